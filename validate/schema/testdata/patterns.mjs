// Writes what ECMA-262 says of patterns, one a line: {"p": pattern, "t": texts, "m": which of them match}.
//   node patterns.mjs 400 7 > patterns.jsonl        400 random patterns of seed 7, behind those below
const known = [
  ["(?<=a)b", ["ab", "b", "bb", "aab"]],
  ["(?<!a)b", ["ab", "b", "cb", "abb"]],
  ["^.*(?<!-)$", ["abc", "abc-", "", "-", "a-b"]],
  ["^[a-z](?:-?[a-z0-9])*(?<!x)$", ["a", "a-b", "ax", "a--b", "a-"]],
  ["(?<=^|,)x(?=,|$)", ["x", "a,x", "x,a", "ax", "a,xa"]],
  ["(?<=\\d{3})\\b", ["123", "12", "12 345", ""]],
  ["(?<=(a+))b\\1$", ["aabaa", "aab", "aaba", "ab", "b"]],
  ["(?<=\\1(a))b", ["aab", "ab", "b"]],
  ["(?<=([ab]+)([bc]+))$", ["abc", "aabbcc", "c", "bc"]],
  ["(?<![a-z])[A-Z]{2}(?![a-z])", ["AB", "aAB", "ABc", "1AB2", "ABC"]],
  ["(?<year>\\d{4})-\\k<year>", ["2024-2024", "2024-2025", "x2024-2024y"]],
  ["^(.)(.).?\\2\\1$", ["abcba", "abba", "abcab", "aaaa", "ab"]],
  ["^(['\"]).*\\1$", ["'a'", "\"a\"", "'a\"", "''", "'"]],
  ["(\\w+) \\1", ["the the", "the then", "a b", "ab b c"]],
  ["^(?:(a)|b)*\\1$", ["ab", "aa", "a", "b", "aba", "abab", ""]],
  ["^(a?)*\\1b$", ["b", "ab", "aab"]],
  ["^\\1(a)$", ["a", "aa", ""]],
  ["^(?:\\2b|(a)(c))*$", ["acb", "accb", "b", "ac", ""]],
  ["a(?=b)b", ["ab", "ac", "aab"]],
  ["^a(?!.*b)[a-z]+$", ["acd", "acb", "ab", "az"]],
  ["^(?!.*(.).*\\1)[a-z]+$", ["abc", "abca", "aa", "z", ""]],
  ["^(?=.*[A-Z])(?=.*\\d)(?=.*(.)\\1).{4,}$", ["Aa11", "Ab12", "aa11", "AA1", "XX9z"]],
  ["^[^\\s]+(?<=@example\\.com)$", ["a@example.com", "a@example.org", "@example.com"]],
  ["^(?<!\\/)\\/(?!\\/)", ["/a", "//a", "a"]],
  ["(?<=[\\p{L}])\\d", ["é1", "1", "_1", "Ж9", "漢5"]],
  ["(?<!\\p{Lu})\\p{Ll}{2}", ["ab", "Ab", "Abc", "éà", "ÉÀ"]],
  ["^(.)\\1$", ["😀😀", "😀", "aa", "é\u0301", "\n\n"]],
  ["(?<=^.)😀", ["a😀", "😀😀", "ab😀", "😀"]],
  ["^(?:(?=(\\w))\\1.)+$", ["ab", "abc", "abcd", "a ", ""]],
  ["(?<=\\s)x", [" x", "\u00a0x", "\ufeffx", "\u2028x", "x", "\u180ex"]],
  ["(?!\\S)$", ["", "a", "a ", "\u3000"]],
  ["\\bfoo(?!bar)\\b", ["foo", "foobar", "foo bar", "éfoo", "xfoo"]],
  ["(?<=\\w)\\B(?=\\w)", ["ab", "a", "a b", "éa", "a_"]],
  ["^[a-z]{1,3000}$", ["abc", "", "A"]],
  ["^(?:x{0,2}y){0,1500}$", ["xy", "xxxy", "xyxxy", ""]],
  ["^\\cA(?<=\\x01)$", ["\u0001", "A", ""]],
  ["^[\\S](?<!a)$", ["b", "a", " "]],
  ["^\\-(?<=-)\\_(?<=_)$", ["-_", "-", "_"]],
  ["^(?<!a)[\\d\\-x](?!.)", ["-", "x", "5", "a", "5x"]],
  ["^(?:a|ab)(?:c|bcd)(?<=d)(d*)$", ["abcd", "abcdd", "acd", "abbcd"]],
  ["^.(?<=.)$", ["\r", "\n", "\u2028", "a", "\u0085"]],
  ["^$(?<!x)", ["", "\n", "x"]],
  ["a$(?<=a)", ["a", "a\n", "ba"]],
  ["^(?=a)*b", ["b", "ab"]],
  ["(?<=a)*b", ["b"]],
  ["(?>a)b(?=c)", ["abc"]],
  ["a++(?=b)", ["aab"]],
  ["(?P<x>a)(?P=x)", ["aa", "a"]],
  ["\\Aa(?<=a)\\Z", ["a", "AaZ"]],
  ["(?<=a)\\h", ["ah", "a "]],
  ["[[:alpha:]](?<=a)", ["a", ":]"]],
  ["(a)\\2(?<=a)", ["a", "aa"]],
  ["(?<=a{2,1})", ["aa"]],
  ["\\k<x>(?<=a)", ["k<x>a"]],
  ["(?#note)a(?=b)", ["ab"]],
  ["(?<=a)]", ["a]"]],
  ["(?<=a){", ["a{"]],
];

let state = BigInt(process.argv[3] ?? 1);
const below = n => { // xorshift
  state ^= state << 13n; state &= (1n << 64n) - 1n; state ^= state >> 7n; state ^= state << 17n; state &= (1n << 64n) - 1n;
  return Number((state >> 11n) % BigInt(n));
};
const pick = l => l[below(l.length)];
let groups;
const atom = d => {
  const kind = below(d > 0 ? 16 : 6);
  if (kind < 3) return pick(["a", "b", "c"]);
  if (kind === 3) return pick(["[ab]", "[^a]", ".", "\\w", "\\d", "[a-c]", "\\s", "\\W"]);
  if (kind === 4) return pick(["\\b", "\\B", "^", "$", ""]);
  if (kind === 5) return groups > 0 ? "\\" + (1 + below(groups)) : "b";
  if (kind < 9) { groups++; return "(" + list(d - 1) + ")"; }
  if (kind < 11) return "(?:" + list(d - 1) + ")";
  return pick(["(?=", "(?!", "(?<=", "(?<!", "(?<="]) + list(d - 1) + ")";
};
const piece = d => {
  const a = atom(d), q = pick(["", "", "", "*", "+", "?", "{2}", "{1,2}", "*?", "+?", "??"]);
  return a === "" || /^(\^|\$|\\[bB]|\(\?(=|!|<=|<!))/.test(a) ? a : a + q;
};
const row = d => Array.from({ length: 1 + below(3) }, () => piece(d)).join("");
const list = d => Array.from({ length: below(4) ? 1 : 2 }, () => row(d)).join("|");
const text = () => Array.from({ length: below(8) }, () => pick(["a", "a", "b", "c", "1", " "])).join("");

const matches = (p, texts) => {
  try {
    const re = new RegExp(p, "u");
    return texts.map(t => re.test(t));
  } catch {
    return null;
  }
};
const line = (p, t, m) => console.log(JSON.stringify({ p, t, m }));
// Two things that the flag u forbids have one meaning only.
const plain = p => p.replace("^\\-(", "^-(").replace("\\_", "_").replace(/\)([\]{])$/, ")\\$1");
for (const [p, texts] of known) line(p, texts, matches(plain(p), texts));
for (let n = Number(process.argv[2] ?? 0); n > 0;) {
  groups = 0;
  const p = pick(["", "^"]) + "(?:" + list(3) + ")" + pick(["", "$"]);
  if (p.length > 60 || !/\\[1-9]|\(\?[=!<]/.test(p)) continue;
  const t = Array.from({ length: 6 }, text), m = matches(p, t);
  if (m !== null && !(m.includes(true) && m.includes(false)) && below(20) > 0) continue;
  line(p, t, m);
  n--;
}
