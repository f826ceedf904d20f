package stress

// Order gives sessions back in the order of their numbers, whichever ended first:
// a test that may be looked at after each must not see the quick ones first, for
// corruption makes sessions longer, or shorter. The zero Order begins with number 0.
type Order struct {
	next    int
	waiting map[int]*Session
}

// Add takes in a session and returns those that are due.
func (o *Order) Add(s *Session) (due []*Session) {
	if o.waiting == nil {
		o.waiting = map[int]*Session{}
	}
	o.waiting[s.Number] = s
	for o.waiting[o.next] != nil {
		due = append(due, o.waiting[o.next])
		delete(o.waiting, o.next)
		o.next++
	}
	return due
}
