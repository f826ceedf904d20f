package stress

import (
	"fmt"
	"strconv"
	"strings"
)

// Share is a share of something, from 0 to 1. As a flag it is written 15% or 0.15.
type Share float64

// String writes the share as a percentage.
func (s Share) String() string { return strconv.FormatFloat(100*float64(s), 'g', 4, 64) + "%" }

// Set reads a share.
func (s *Share) Set(text string) error {
	digits, percent := strings.CutSuffix(strings.TrimSpace(text), "%")
	p, err := strconv.ParseFloat(digits, 64)
	if percent {
		p /= 100
	}
	if err != nil || !(p >= 0 && p <= 1) {
		return fmt.Errorf("must be a share from 0 to 100%%, such as 15%% or 0.15")
	}
	*s = Share(p)
	return nil
}

// MarshalJSON writes the share as a number.
func (s Share) MarshalJSON() ([]byte, error) {
	return strconv.AppendFloat(nil, float64(s), 'g', 6, 64), nil
}
