package stats

import (
	"fmt"
	"math"
	"testing"
)

// The wanted values are R's prop.test(k, n, correct=FALSE).
func TestWilson(t *testing.T) {
	tests := []struct {
		k, n   int
		lo, hi float64
	}{
		{6, 40, 0.0706118771732036, 0.290723243664897},
		{2, 40, 0.0138206673861484, 0.16503877369141},
		{5, 40, 0.054595002509454, 0.261121198388511},
		{9, 120, 0.0399571153959603, 0.136409176059938},
		{0, 80, 0, 0.0458181295355271},
		{0, 40, 0, 0.0876216011972866},
		{1, 200, 0.000883168715600977, 0.0277737043978929},
		{40, 40, 0.912378398802713, 1},
		{3, 1000, 0.00102078388113862, 0.00878301405350317},
		{0, 10000, 0, 0.000383998370676596},
		{0, 0, 0, 1},
	}
	for _, tt := range tests {
		lo, hi := Wilson(tt.k, tt.n)
		if math.Abs(lo-tt.lo) > 1e-9 || math.Abs(hi-tt.hi) > 1e-9 {
			t.Errorf("%d/%d: got %v, %v; want %v, %v", tt.k, tt.n, lo, hi, tt.lo, tt.hi)
		}
	}
}

func TestWilsonAsItIsPrinted(t *testing.T) {
	lo, hi := Wilson(6, 40)
	if got, want := fmt.Sprintf("[%.1f%%, %.1f%%]", 100*lo, 100*hi), "[7.1%, 29.1%]"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}
