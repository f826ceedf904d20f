package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"turnwatch/cmd/internal/report"
)

// report prints what turnreport finds in the journals, and writes its page.
func (p *printer) report(ctx context.Context, results []*result, path string) error {
	var journals []string
	for _, r := range results {
		journals = append(journals, r.stand.path)
	}
	d, err := report.Read(ctx, journals, nil)
	if err != nil {
		return err
	}
	r := report.Make(d, report.Options{Seed: 1})
	path, err = page(path, r.HTML)
	if err != nil {
		return fmt.Errorf("write the report: %w", err)
	}
	p.printf("\n  What turnreport makes of the four journals\n\n")
	var b strings.Builder
	if err := r.Summary(&b); err != nil {
		return err
	}
	for line := range strings.Lines(b.String()) {
		p.printf("    %s", line)
	}
	p.printf("\n    The whole report: %s\n", path)
	return nil
}

// page writes a file, a new one if no path is given, and returns its path.
func page(path string, write func(io.Writer) error) (string, error) {
	create := func() (*os.File, error) { return os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600) }
	if path == "" {
		create = func() (*os.File, error) { return os.CreateTemp("", "turndemo-*.html") }
	}
	f, err := create()
	if err != nil {
		return "", err
	}
	return f.Name(), errors.Join(write(f), f.Close())
}
