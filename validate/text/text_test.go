package text

import (
	"encoding/binary"
	"fmt"
	"reflect"
	"strings"
	"testing"
)

func detect(prompt, text string, size int) *Detector {
	p := new(Prompt)
	p.Write([]byte(prompt))
	d := new(Detector)
	d.Reset(p)
	for b := []byte(text); len(b) > 0; {
		k := min(size, len(b))
		d.Write(b[:k])
		b = b[k:]
	}
	d.Finish()
	return d
}

// TestAllPlain holds eight bytes at once against each of them.
func TestAllPlain(t *testing.T) {
	for b := range 256 {
		for at := range 8 {
			word := []byte("a b~ Z!0")
			word[at] = byte(b)
			want := plain[b] && b >= ' '
			if got := allPlain(binary.LittleEndian.Uint64(word)); got != want {
				t.Errorf("%q: got %v, want %v", word, got, want)
			}
		}
	}
}

func (d *Detector) result() string { return fmt.Sprintf("%+v %x", d.Findings(), d.Scripts()) }

// proofs names the kinds of which there is proof, and those of which there
// would be if the text was cut off.
func (d *Detector) proofs() (all string) {
	for _, f := range d.Findings() {
		switch {
		case f.Proof:
			all += f.Kind.String() + " "
		case f.ProofIfCut:
			all += f.Kind.String() + "? "
		}
	}
	return strings.TrimSpace(all)
}

func repeat(s string, n int) string { return strings.Repeat(s, n) }

// texts are prompts, answers and what is proof in them.
var texts = []struct{ prompt, text, proof string }{
	{"", "The wea" + repeat("!", 240), "loop"},
	{"", repeat("!", 176), "loop"},
	{"", "Wow!!!!!!!!", ""},
	{"", "systemctl status app; " + repeat("then I will check the log and then ", 60) + "done", "loop"},
	{"", "Well, " + repeat("Wait, the user wants to upgrade XEHM4B. ", 5), "loop?"},
	{"", "Well, " + repeat("Wait, the user wants to upgrade XEHM4B. ", 40), "loop"},
	{"", "The summary.\n" + repeat("</invoke>\n</parameter>\n", 26), "loop?"},
	{"", "{\"a\": " + repeat(" ", 200), "loop?"},
	{"", "{\"a\": " + repeat("\n", 2000), "loop"},
	{"", repeat("the ", 600) + "end of all, and then something else is said.", ""},
	{"", "It is " + repeat("the ", 80), "loop"},
	{"Write the sentence 'All work and no play makes Jack a dull boy' 40 times.", repeat("All work and no play makes Jack a dull boy.\n", 40), ""},
	{"All work and no joy makes Jack dull.", repeat("All work and no play makes Jack a dull boy.\n", 100), "loop"},
	{"Say \"ha\" very often.", repeat("ha ", 200), ""},
	{"Say hello 100 times.", repeat("hello ", 100), ""},
	{"Repeat the word company forever.", repeat("company ", 100), ""},
	{"What is the matter?", repeat("the ", 200), "loop"},
	{"", "它是" + repeat("好的", 80), "loop"},
	{"", repeat("word ", 50), "loop?"},
	{"", "It is " + repeat("fibonacci", 20), "loop?"},
	{"", repeat("null, ", 300), "loop?"},
	{"", repeat("─┼", 300) + repeat("AAAA", 100) + repeat("abcd", 60) + "\n", "loop?"},
	{"", repeat("= ", 40) + "\n" + repeat("-", 80) + "\n" + repeat("| --- ", 12) + "|\n", ""},
	{"", repeat("0x00, ", 300), "loop?"},
	{"", repeat("00 ", 200), ""},
	{"", numbered(100), ""},
	{"", repeat("A", 3000), "loop?"},
	{"", repeat("Row, row, row your boat,\nGently down the stream.\nMerrily, merrily, merrily, merrily,\nLife is but a dream.\n\n", 5) + "The end.", ""},
	{"", repeat("Lorem ipsum dolor sit amet, consectetur adipiscing elit, sed do eiusmod tempor.\n\n", 16), "loop?"},
	{"", "items:\n" + repeat("  - name: x\n    value: null\n", 70), "loop?"},
	{"", "```\n" + repeat("Connection refused, trying again in a second\n", 40) + "```\n", "loop?"},
	{"", "      END\n" + repeat("!", 132), "loop?"},
	{"", repeat("okay\n", 200), "loop?"},
	{"", repeat("Breathe in, breathe out. ", 24), "loop?"},
	{"", repeat("这是一段测试文字。", 30), "loop?"},
	{"", "我" + repeat("再检查一下这个文件然后", 40), "loop"},
	{"", repeat("哈", 80) + repeat("😂😂 ", 60) + repeat("哈哈，", 40), ""},
	{"", "a" + repeat("\n", 600) + "b", "loop?"},
	{"", "name" + repeat(" ", 500), "loop?"},

	{"", "Regular lubri하여cation of the bearingsผลิต reduces wear; the impeller обязательно clearance shouldで be checkedന്റെ quarterly.", "salad"},
	{"Answer in 한국어, ไทย, 日本語 or മലയാളം.", "Regular lubri하여cation of the bearingsผลิต reduces wear; the impeller обязательно clearance shouldで be checkedന്റെ quarterly.", ""},
	{"", "Lambdaλθελόγ—— just查看 logs внутрьπροσπ", "salad"},
	{"", "| ru | Доброе утро |\n| el | Καλημέρα |\n| th | สวัสดีตอนเช้า |\n| ko | 좋은 아침 |\n| ar | صباح الخير |", ""},
	{"", "使用API的时候，docker-composeで起動し、API를 호출한다.", ""},
	{"", "API를 사용하세요. 설명은 아래에. APIを使用してください。手順は下記。ใช้APIนี้ คำอธิบายอยู่ด้านล่าง; استخدم الـAPI هنا كما يلي", ""},
	{"", "English日本語 and Englishไทย and then words only.", ""},
	{"", `"\nПривет\tмир": "%sфайл", "\nสวัสดี", "\nこんにちは"`, ""},
	{"", "ko: \"Docker를 시작\"\nja: \"Dockerを起動\"\nth: \"เริ่มDocker\"\nhi: \"Dockerको चलाएँ\"\nlo: \"ເລີ່ມDocker\"\n", ""},
	{"", "Δx is 3µm, αβγ", ""},
	{"", "/[A-Za-zА-Яа-яΑ-Ωα-ωא-תء-ي一-龥ぁ-ゔァ-ヴー가-힣ก-๙]+/", ""},
	{"", "α粒子、β射线、Δ值、λ表达式、Ωメガ、Σ記号、улица通り", ""},

	{"", "HelloĠworld,ĠthisĠis a leak", "bytes"},
	{"", "oneĊtwoĊthreeĊfour", "bytes"},
	{"", "The▁quick▁brown▁fox", "bytes"},
	{"", "Good <0xE4><0xBD><0xA0><0xE5> day", "bytes"},
	{"What is <0xE4>?", "Good <0xE4><0xBD><0xA0><0xE5> day", ""},
	{"", numbered(9) + "x<0xE4><0xBD><0xA0>", "bytes"},
	{"", "std::bitset<0x20> b, <0x1F600>, <0xZZ>, E<0x7B>, E<0x7B>E<0x7B>", ""},
	{"", "Tokens like <0xE4> <0xBD> <0xA0> stand for bytes.", ""},
	{"", "I found mojibake in names.csv: \"JosÃ©\", \"MarÃ\u00ada\" and \"MuÃ±oz\".", ""},
	{"", "Il-MAĠĠORANZA ta' Ġorġ, iċ-Ċentru", ""},
	{"", "ä½łå¥½ï¼Įä¸ĸçķĮ", "bytes"},
	{"", "JosÃ© estÃ¡ aquÃ\u00ad", "bytes"},
	{"", "JosÃ© was\n" + numbered(40) + ", estÃ¡" + numbered(40) + " aquÃ\u00ad", ""},
	{"What does estÃ¡ mean?", "JosÃ© estÃ¡ aquÃ\u00ad", ""},
	{"", "»Spaß« und „Spaß“, Çıkış, voilà», l'été…", ""},
	{"", "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>", ""},
	{"", "▁▂▃▄▅▆▇█ load", ""},

	{"", "Glad that worked ��", "replacement"},
	{"", "caf� is open", "replacement"},
	{"Our log shows caf��, what does � mean?", "The symbol � is one; caf�� was probably café.", ""},
	{"", "strip it with s.replace(\"�\", \"\")", ""},
	{"", "U+FFFD, the replacement character �, stands for bad bytes.", ""},

	{"", "a\x00b\x00", ""},
	{"", "a\x00b\x00\x00", "control"},
	{"", "It shows Ã©, Ã¨ and 'Ã¼' where é, è and ü were.", ""},
	{"", "a\x1b[31mb\u0085\uFFFE", ""},
}

func numbered(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "line %04d: the quick brown fox jumps over the lazy dog\n", i)
	}
	return b.String()
}

func TestProof(t *testing.T) {
	for _, c := range texts {
		if got := detect(c.prompt, c.text, 1<<20).proofs(); got != c.proof {
			t.Errorf("%.60q: got %q, want %q: %+v", c.text, got, c.proof, detect(c.prompt, c.text, 1<<20).Findings())
		}
	}
}

func TestLoopBeginsWhereTheTextRepeats(t *testing.T) {
	f := func(text string, start, period int) {
		t.Helper()
		got := detect("", text, 1<<20).Findings()
		if len(got) != 1 || got[0].Kind != Loop || got[0].Start != int64(start) || got[0].Period != period {
			t.Errorf("%.40q: got %+v, want a loop of %d from %d on", text, got, period, start)
		}
	}
	const s = "then I will check the log and "
	f("First:\n"+repeat(s, 5), 7+len(s), len(s))
	f("First:\n"+repeat(s, 500), 7+len(s), len(s))
	f(numbered(3)+repeat("!", 9000), len(numbered(3))+1, 1)
	long := numbered(15)
	f("Begin. "+repeat(long, 20), 7+len(long), len(long))
	f("x"+repeat(s, 30)+"done", 1+len(s), len(s))
}

func TestReplacementAtTheEnd(t *testing.T) {
	f := func(text string, want bool) {
		t.Helper()
		got := detect("", text, 1).Findings()
		if len(got) != 1 || got[0].AtEnd != want {
			t.Errorf("%q: got %+v, want one at the end: %v", text, got, want)
		}
	}
	f("Hi �", true)
	f("Hi � there", false)
}

func TestOffsetsCountOverTexts(t *testing.T) {
	d := new(Detector)
	d.Reset(new(Prompt))
	d.Write([]byte("city"))
	d.Next()
	d.Write([]byte("caf"))
	d.Write([]byte("� is open"))
	d.Next()
	d.Write([]byte("ok"))
	d.Finish()
	want := Finding{Kind: Replacement, Start: 7, End: 10, Count: 1, Proof: true}
	if got := d.Findings(); len(got) != 1 || got[0] != want {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
}

func TestScriptsOfAnAnswer(t *testing.T) {
	if got := detect("Привет", "Привет, мир. 你好", 2).Scripts(); got != 1<<eastAsian {
		t.Errorf("got %b, want Han only", got)
	}
}

func corpus() (all []string) {
	for _, c := range texts {
		all = append(all, c.text)
	}
	return append(all, numbered(40)+"\xff\xe2\x98", repeat("\xf0\x9f", 300), numbered(90)+repeat("Wait, no, not at all. ", 200),
		repeat("ab\u0301ж", 900), repeat("�", 1500))
}

func TestCutsChangeNothing(t *testing.T) {
	for _, text := range corpus() {
		want := detect("", text, len(text)+1).result()
		for at := 1; at < len(text); at += 1 + len(text)/900 {
			d := new(Detector)
			d.Reset(new(Prompt))
			d.Write([]byte(text[:at]))
			d.Write([]byte(text[at:]))
			d.Finish()
			if got := d.result(); got != want {
				t.Fatalf("%.80q cut at %d:\ngot  %s\nwant %s", text, at, got, want)
			}
		}
		for _, size := range []int{1, 2, 3, 7, 300} {
			if got := detect("", text, size).result(); got != want {
				t.Fatalf("%.80q in pieces of %d:\ngot  %s\nwant %s", text, size, got, want)
			}
		}
	}
}

func TestDetectorIsSmall(t *testing.T) {
	if d, p := reflect.TypeFor[Detector]().Size(), reflect.TypeFor[Prompt]().Size(); d > 6<<10 || p > 6<<10 {
		t.Errorf("a detector takes %d bytes, a prompt %d", d, p)
	}
}

func FuzzCut(f *testing.F) {
	for _, text := range corpus() {
		f.Add(text, uint16(3))
	}
	f.Fuzz(func(t *testing.T, text string, size uint16) {
		want := detect("", text, len(text)+1)
		if got := detect("", text, int(size)+1); got.result() != want.result() {
			t.Errorf("in pieces of %d:\ngot  %s\nwant %s", int(size)+1, got.result(), want.result())
		}
		for _, m := range want.Findings() {
			if m.Start < 0 || m.End < m.Start || m.End > int64(len(text)) {
				t.Errorf("%+v lies outside of the text", m)
			}
		}
	})
}
