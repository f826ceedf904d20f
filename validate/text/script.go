package text

// script is a writing system, Latin being one. Systems that one text mixes by
// its nature are one here.
type script uint8

// The scripts; noScript is what is no letter.
const (
	noScript script = iota
	latin
	greek
	cyrillic
	armenian
	hebrew
	arabic
	syriac
	devanagari
	bengali
	gurmukhi
	gujarati
	oriya
	tamil
	telugu
	kannada
	malayalam
	sinhala
	thai
	lao
	tibetan
	myanmar
	georgian
	ethiopic
	cherokee
	khmer
	mongolian
	hangul
	eastAsian // Han, Kana, Bopomofo
	mark      // goes with the letter in front of it
)

// ranges are where the scripts begin, in steps of 16 code points.
var ranges = [...]struct {
	from rune
	s    script
}{
	{0x00C0, latin}, {0x02B0, noScript}, {0x0300, mark}, {0x0370, greek}, {0x0400, cyrillic}, {0x0530, armenian}, {0x0590, hebrew},
	{0x0600, arabic}, {0x0700, syriac}, {0x0750, arabic}, {0x0780, noScript}, {0x08A0, arabic}, {0x0900, devanagari}, {0x0980, bengali},
	{0x0A00, gurmukhi}, {0x0A80, gujarati}, {0x0B00, oriya}, {0x0B80, tamil}, {0x0C00, telugu}, {0x0C80, kannada}, {0x0D00, malayalam},
	{0x0D80, sinhala}, {0x0E00, thai}, {0x0E80, lao}, {0x0F00, tibetan}, {0x1000, myanmar}, {0x10A0, georgian}, {0x1100, hangul},
	{0x1200, ethiopic}, {0x13A0, cherokee}, {0x1400, noScript}, {0x1780, khmer}, {0x1800, mongolian}, {0x18B0, noScript}, {0x1D00, noScript},
	{0x1DC0, mark}, {0x1E00, latin}, {0x1F00, greek}, {0x2000, noScript}, {0x2E80, eastAsian}, {0x3000, noScript}, {0x3040, eastAsian},
	{0x3130, hangul}, {0x3190, eastAsian}, {0x31C0, noScript}, {0x31F0, eastAsian}, {0x3200, noScript}, {0x3400, eastAsian}, {0x4DC0, noScript},
	{0x4E00, eastAsian}, {0xA000, noScript}, {0xA960, hangul}, {0xA980, noScript}, {0xAC00, hangul}, {0xD800, noScript}, {0xF900, eastAsian},
	{0xFB00, noScript}, {0xFB50, arabic}, {0xFE00, noScript}, {0xFE70, arabic}, {0xFF00, noScript}, {0xFF60, eastAsian}, {0xFFA0, hangul}, {0xFFE0, noScript},
}

// table holds the script of each 16 code points of the first plane.
var table = newTable()

func newTable() (t [4096]script) {
	for i, r := range ranges {
		end := rune(0x10000)
		if i+1 < len(ranges) {
			end = ranges[i+1].from
		}
		for c := r.from; c < end; c += 16 {
			t[c>>4] = r.s
		}
	}
	return t
}

// scriptOf returns the script of a character that is not ASCII.
func scriptOf(r rune) script {
	switch {
	case r == 0xD7 || r == 0xF7 || r == 0xAA || r == 0xBA:
		return noScript
	case r < 0x10000:
		return table[r>>4]
	case r >= 0x20000 && r < 0x32000:
		return eastAsian
	}
	return noScript
}
