package schema

import (
	"bytes"
	"math/big"
)

// decimal is a number as it is spelled, without loss: 0.digits times ten to
// the exponent. Zero has no digits.
type decimal struct {
	neg    bool
	exp    int
	digits []byte // without zeros at either end
}

// parse reads a JSON number; buf is overwritten with its digits.
func parse(text, buf []byte) decimal {
	d := decimal{digits: buf[:0]}
	if len(text) > 0 && text[0] == '-' {
		d.neg, text = true, text[1:]
	}
	if len(text) > 0 && text[0] != '0' && digitsOnly(text) {
		d.exp, d.digits = len(text), append(d.digits, text...)
		for d.digits[len(d.digits)-1] == '0' {
			d.digits = d.digits[:len(d.digits)-1]
		}
		return d
	}
	point := false
	for i, b := range text {
		switch {
		case b == '.':
			point = true
			continue
		case b == 'e' || b == 'E':
			d.exp += exponent(text[i+1:])
		}
		if b < '0' || b > '9' {
			break
		}
		if !point {
			d.exp++
		}
		if b == '0' && len(d.digits) == 0 {
			d.exp--
			continue
		}
		d.digits = append(d.digits, b)
	}
	d.digits = bytes.TrimRight(d.digits, "0")
	if len(d.digits) == 0 {
		return decimal{digits: d.digits}
	}
	return d
}

func digitsOnly(text []byte) bool {
	for _, b := range text {
		if b < '0' || b > '9' {
			return false
		}
	}
	return true
}

// exponent reads what follows an e, as far as it matters.
func exponent(text []byte) int {
	n, neg := 0, false
	for _, b := range text {
		switch {
		case b == '-':
			neg = true
		case b >= '0' && b <= '9':
			n = min(10*n+int(b-'0'), 1<<20)
		}
	}
	if neg {
		return -n
	}
	return n
}

// excessive reports whether the exponent of a number is beyond maxExponent.
func excessive(text []byte) bool {
	i := bytes.IndexAny(text, "eE")
	if i < 0 {
		return false
	}
	e := exponent(text[i+1:])
	return e > maxExponent || e < -maxExponent
}

// integral reports whether the number has no fraction.
func (d *decimal) integral() bool { return len(d.digits) == 0 || d.exp >= len(d.digits) }

// compare is negative if d is less than e, positive if it is greater.
func (d *decimal) compare(e *decimal) int {
	if d.sign() != e.sign() {
		return d.sign() - e.sign()
	}
	order := d.exp - e.exp
	if order == 0 {
		order = bytes.Compare(d.digits, e.digits)
	}
	return order * d.sign()
}

func (d *decimal) sign() int {
	switch {
	case len(d.digits) == 0:
		return 0
	case d.neg:
		return -1
	}
	return 1
}

// multiple reports whether d is an integral multiple of m, which is not zero.
func (d *decimal) multiple(m *decimal) bool {
	if len(d.digits) == 0 {
		return true
	}
	a, shift := d.integer()
	b, off := m.integer()
	if shift -= off; shift >= 0 {
		a.Mul(a, power(shift))
	} else {
		b.Mul(b, power(-shift))
	}
	return a.Rem(a, b).Sign() == 0
}

// integer is the digits as an integer, and how many zeros it lacks.
func (d *decimal) integer() (*big.Int, int) {
	n, _ := new(big.Int).SetString(string(d.digits), 10)
	return n, d.exp - len(d.digits)
}

func power(n int) *big.Int { return new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(n)), nil) }

// hash is the same for equal numbers.
func (d *decimal) hash(seed uint64) uint64 {
	h := hashBytes(seed^2, d.digits)
	h = mix(h ^ uint64(int64(d.exp)))
	if d.neg {
		h = mix(h ^ 1)
	}
	return h
}
