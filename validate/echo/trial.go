package echo

import "math"

// trial measures how often what is told of parameters that are sure to be
// copies is wrong, without knowing the truth. In the calmest stretch so far,
// values were told at some rate; whatever the reason, wrong ones were told at
// that rate at most. If agents have not changed since, that many of the latest
// ones are wrong at most.
type trial struct {
	calm   count // the calmest stretch that is over
	open   count // the one that is not
	latest count
}

// count is how many of n values were told.
type count struct{ n, told float64 }

const (
	stretch = 4096 // values
	window  = 512  // … of the latest ones, after which they count half
)

func (t *trial) add(told bool) {
	t.open.add(told)
	t.latest.add(told)
	if t.latest.n >= window {
		t.latest.n, t.latest.told = t.latest.n/2, t.latest.told/2
	}
	if t.open.n >= stretch {
		if t.calm.n == 0 || t.open.most() < t.calm.most() {
			t.calm = t.open
		}
		t.open = count{}
	}
}

func (c *count) add(told bool) {
	c.n++
	if told {
		c.told++
	}
}

// most and least bound the rate, each with a confidence of 99%, from the
// approximation of the Poisson law by the normal one for the root of the count,
// rounded away from the estimate.
func (c *count) most() float64 { return (c.told + 4 + 2.4*math.Sqrt(c.told+0.5)) / c.n }

func (c *count) least() float64 {
	return max(0, c.told-2.4*math.Sqrt(c.told)) / c.n
}

// FalseDiscovery bounds the share of wrong ones among the values that are told
// lately of parameters that are sure to be copies. It is 1 until enough was
// seen.
func (h *Habits) FalseDiscovery() float64 {
	h.mu.Lock()
	defer h.mu.Unlock()
	t := &h.trial
	if t.calm.n == 0 || t.latest.least() == 0 {
		return 1
	}
	return min(1, t.calm.most()/t.latest.least())
}
