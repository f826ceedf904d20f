package report

import (
	"fmt"

	"turnwatch/validate/stats"
)

// Rate is a count of corrupted things out of all that were judged, with its
// 95% interval: Wilson's for sessions; for turns the one that takes sessions as
// the unit.
type Rate struct {
	Corrupted int     `json:"corrupted"`
	All       int     `json:"all"`
	Rate      float64 `json:"rate"`
	Low       float64 `json:"low"`
	High      float64 `json:"high"`
}

func newRate(a stats.Arm) Rate {
	lo, hi := stats.Wilson(a.K, a.N)
	return Rate{a.K, a.N, a.Rate(), lo, hi}
}

// clustered is the rate of turns that come in sessions.
func clustered(sessions []stats.Cluster) Rate {
	var a stats.Arm
	for _, c := range sessions {
		a.K, a.N = a.K+c.K, a.N+c.N
	}
	r := newRate(a)
	if len(sessions) > 0 {
		r.Low, r.High = stats.Ratio(sessions).Interval(0.95)
	}
	return r
}

// Arm returns the counts.
func (r Rate) Arm() stats.Arm { return stats.Arm{K: r.Corrupted, N: r.All} }

// String writes the rate as everything here does: 6/40 = 15.0%  [7.1%, 29.1%].
func (r Rate) String() string {
	return fmt.Sprintf("%d/%d = %s  [%s, %s]", r.Corrupted, r.All, percent(r.Rate), percent(r.Low), percent(r.High))
}

// percent writes a share with one decimal.
func percent(p float64) string { return fmt.Sprintf("%.1f%%", 100*p) }
