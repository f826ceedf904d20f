package echo

import "bytes"

// hasNumber reports whether a number occurs, however many zeros stand behind
// its point and whether or not commas, or points, part its thousands.
func (s *Source) hasNumber(v []byte) bool {
	v = bytes.TrimRight(bytes.TrimLeft(v, "+-$"), "%")
	for _, spelled := range forms(v) {
		if s.find(spelled, digits) {
			return true
		}
	}
	return false
}

// forms are the ways to write a number, as it is first.
func forms(v []byte) [][]byte {
	all := [][]byte{v}
	whole, part, _ := bytes.Cut(bytes.ReplaceAll(v, []byte(","), nil), []byte("."))
	part = bytes.TrimRight(part, "0")
	for _, style := range []string{".", ".,", ",."} {
		w := whole
		if style[1:] != "" {
			w = parted(whole, style[1])
		}
		for zeros := range 3 {
			f := bytes.Clone(w)
			if len(part)+zeros > 0 {
				f = append(append(append(f, style[0]), part...), "00"[:zeros]...)
			}
			all = append(all, f)
		}
	}
	return all
}

// parted puts a mark between the thousands of a whole number.
func parted(v []byte, mark byte) []byte {
	var b []byte
	for i := range v {
		if i > 0 && (len(v)-i)%3 == 0 {
			b = append(b, mark)
		}
		b = append(b, v[i])
	}
	return b
}
