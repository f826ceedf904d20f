// Asks a server through the openai client, streaming and not, and prints what it got.
const { OpenAI } = require('openai');

const client = new OpenAI({ baseURL: process.argv[2] + '/v1', apiKey: 'none', maxRetries: 0 });
const asked = {
  model: 'm',
  messages: [{ role: 'user', content: 'How is the weather in Oslo and in Rome?' }],
  tools: [{ type: 'function', function: { name: 'weather', parameters: {
    type: 'object', properties: { city: { type: 'string' } }, required: ['city'] } } }],
  user: 'e2e',
};

async function main() {
  for (let i = 0; i < 2; i++) { // the second on the connection of the first
    let events = 0, text = '', calls = '', finish = '';
    for await (const event of await client.chat.completions.create({ stream: true, ...asked })) {
      events++;
      for (const choice of event.choices) {
        text += choice.delta.content ?? '';
        for (const call of choice.delta.tool_calls ?? []) {
          calls += (call.function.name ?? '') + (call.function.arguments ?? '');
        }
        finish += choice.finish_reason ?? '';
      }
    }
    console.log(JSON.stringify({ events, text, calls, finish }));

    const { data, response } = await client.chat.completions.create(asked).withResponse();
    const choice = data.choices[0];
    calls = (choice.message.tool_calls ?? []).map((c) => c.function.name + c.function.arguments).join('');
    console.log(JSON.stringify({ text: choice.message.content ?? '', calls, finish: choice.finish_reason }));
    console.error('verdict:', response.headers.get('x-turnwatch-verdict'));
  }
}

main().catch((err) => { console.error(err); process.exit(1); });
