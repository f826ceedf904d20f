package turn

// Tokens are the ids of a turn's tokens, as the server tells them after it. They
// are as telling as the text, and in no record.
type Tokens struct {
	Input, Output []int32
	// Cut says that the server kept less than all of them.
	Cut bool
	// First and Last are the tokens of the output, from 1, of which one made the first byte
	// that a finding or a signal is about; 0 where that is not known.
	First, Last int64
}
