package stats

// pseudo is what each outcome counts before the first block.
const pseudo = 0.18

// Blocks compares two arms while their sessions arrive, and may be looked at
// after each. A block takes NA sessions of the first arm and NB of the second
// (0 means 1); what one arm has ahead of the other waits. The zero Blocks is ready
// to use.
//
// R. J. Turner, A. Ly and P. D. Grünwald, Generic E-variables for exact sequential
// k-sample tests that allow for optional stopping, Journal of Statistical Planning
// and Inference 230 (2024) 106116: the E-variable of a block is its likelihood under
// the shares θa, θb over that under (na·θa+nb·θb)/(na+nb) in both arms, where θa and
// θb are estimates of the blocks before it, with 0.18 pseudo-counts.
type Blocks struct {
	NA, NB int

	a, b             Arm // of complete blocks
	waitingA         []bool
	waitingB         []bool
	log, greatestLog float64
}

// AddA adds a session of the first arm.
func (s *Blocks) AddA(corrupted bool) {
	s.waitingA = append(s.waitingA, corrupted)
	s.fill()
}

// AddB adds a session of the second arm.
func (s *Blocks) AddB(corrupted bool) {
	s.waitingB = append(s.waitingB, corrupted)
	s.fill()
}

// LogE returns the E-value against equal shares, of the complete blocks.
func (s *Blocks) LogE() float64 { return s.log }

// P returns the p-value that holds at every look: it never rises.
func (s *Blocks) P() float64 { return AnytimeP(s.greatestLog) }

// Arms returns the counts of the complete blocks.
func (s *Blocks) Arms() (a, b Arm) { return s.a, s.b }

func (s *Blocks) fill() {
	na, nb := max(1, s.NA), max(1, s.NB)
	for len(s.waitingA) >= na && len(s.waitingB) >= nb {
		s.block(count(s.waitingA[:na]), count(s.waitingB[:nb]))
		s.waitingA, s.waitingB = s.waitingA[na:], s.waitingB[nb:]
	}
}

func count(corrupted []bool) Arm {
	a := Arm{N: len(corrupted)}
	for _, bad := range corrupted {
		if bad {
			a.K++
		}
	}
	return a
}

// block multiplies E by what the block says, judged by the blocks before it.
func (s *Blocks) block(a, b Arm) {
	pa, pb := s.a.guess(), s.b.guess()
	na, nb := float64(a.N), float64(b.N)
	common := (na*pa + nb*pb) / (na + nb)
	s.log += logLikelihood(a.K, a.N, pa) + logLikelihood(b.K, b.N, pb) -
		logLikelihood(a.K, a.N, common) - logLikelihood(b.K, b.N, common)
	s.greatestLog = max(s.greatestLog, s.log)
	s.a = Arm{s.a.K + a.K, s.a.N + a.N}
	s.b = Arm{s.b.K + b.K, s.b.N + b.N}
}

// guess is the share with the pseudo-counts.
func (a Arm) guess() float64 {
	return (float64(a.K) + pseudo) / (float64(a.N) + 2*pseudo)
}
