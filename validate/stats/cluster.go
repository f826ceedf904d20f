package stats

import "math"

// Cluster is what happened in one session: K corrupted of its N turns.
type Cluster = Arm

// Share is a share of turns that come in sessions.
type Share struct {
	P           float64 // corrupted turns per turn
	SE          float64 // its standard error, sessions taken as the unit
	Effect      float64 // design effect: the variance over that of as many turns on their own
	EffectiveN  float64 // turns on their own that would say as much
	Correlation float64 // within sessions; 0 where it cannot be told
}

// Ratio estimates the share of corrupted turns from whole sessions, which are the
// unit of inference: turns of one session are corrupted together. Where nothing
// varies (fewer than two sessions, no turn corrupted or all of them) the sessions
// alone count: EffectiveN is their number.
//
// W. G. Cochran, Sampling Techniques, 3rd edition (1977), chapter 6 for the
// linearised variance of a ratio, K/(K−1)·Σ(y−p̂m)²/(Σm)²; L. Kish, Survey
// Sampling (1965), 8.2 for the design effect.
func Ratio(sessions []Cluster) Share {
	var all Arm
	k := 0.0
	for _, c := range sessions {
		all.K, all.N = all.K+c.K, all.N+c.N
		if c.N > 0 {
			k++
		}
	}
	s := Share{P: all.Rate(), EffectiveN: k, Correlation: correlation(sessions, all, k)}
	if k > 0 {
		s.Effect = float64(all.N) / k
	}
	if k < 2 || all.K == 0 || all.K == all.N {
		return s
	}
	var squares float64
	for _, c := range sessions {
		d := float64(c.K) - s.P*float64(c.N)
		squares += d * d
	}
	n := float64(all.N)
	variance := k / (k - 1) * squares / (n * n)
	if variance == 0 {
		return s
	}
	s.SE = math.Sqrt(variance)
	s.Effect = variance * n / (s.P * (1 - s.P))
	s.EffectiveN = n / s.Effect
	return s
}

// Interval returns Wilson's interval at level conf for as many turns as the
// sessions are worth, no more than there are.
//
// N. Dean and M. Pagano, Evaluating confidence interval methods for binomial
// proportions in clustered surveys, Journal of Survey Statistics and Methodology 3
// (2015), 484–503.
func (s Share) Interval(conf float64) (lo, hi float64) {
	if s.EffectiveN == 0 {
		return 0, 1
	}
	lo, hi = score(s.P, s.EffectiveN*min(1, s.Effect), twoSidedZ(conf))
	if s.P == 0 {
		lo = 0
	}
	if s.P == 1 {
		hi = 1
	}
	return lo, hi
}

// correlation is the analysis-of-variance estimate for binary data.
//
// M. S. Ridout, C. G. B. Demétrio and D. Firth, Estimating intraclass correlation
// for binary data, Biometrics 55 (1999), 137–148.
func correlation(sessions []Cluster, all Arm, k float64) float64 {
	n, y := float64(all.N), float64(all.K)
	if k < 2 || n <= k || all.K == 0 || all.K == all.N {
		return 0
	}
	var explained, squares float64
	for _, c := range sessions {
		if c.N > 0 {
			explained += float64(c.K) * float64(c.K) / float64(c.N)
			squares += float64(c.N) * float64(c.N)
		}
	}
	between := (explained - y*y/n) / (k - 1)
	inside := (y - explained) / (n - k)
	size := (n - squares/n) / (k - 1)
	return (between - inside) / (between + (size-1)*inside)
}
