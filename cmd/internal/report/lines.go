package report

import (
	"context"
	"fmt"
	"io"

	"turnwatch/proxy/journal"
)

// EachLine gives do every line of the journals that the paths name, as Read takes them,
// and the journal that it is of. The line is valid until do returns.
func EachLine(ctx context.Context, paths []string, in io.Reader, do func(replica string, l journal.Line)) error {
	var files []file
	for _, p := range paths {
		more, err := expand(p)
		if err != nil {
			return err
		}
		files = append(files, more...)
	}
	for _, f := range once(files) {
		if err := f.each(ctx, in, do); err != nil {
			return err
		}
	}
	return ctx.Err()
}

func (f file) each(ctx context.Context, in io.Reader, do func(string, journal.Line)) error {
	r, err := f.open(in)
	if err != nil {
		return err
	}
	defer r.Close()
	for l, err := range journal.Lines(r) {
		if err != nil {
			return fmt.Errorf("%s: %w", f.path, err)
		}
		if ctx.Err() != nil {
			return nil
		}
		do(f.replica, l)
	}
	return nil
}
