package report

import (
	_ "embed"
	"fmt"
	"html/template"
	"io"
)

//go:embed report.html
var htmlPage string

// HTML writes the report as one page that needs nothing else: no script, no
// font, no picture from elsewhere.
func (r *Report) HTML(w io.Writer) error {
	t, err := template.New("report").Funcs(template.FuncMap{
		"percent": percent, "isPara": is[para], "isBullets": is[bullets], "isTable": is[table], "isFinding": is[finding], "isChart": is[chart],
		"svg": svg, "head": tableHead, "cells": tableCells, "text": findingText, "stamp": stamp, "lines": lines, "fold": folds,
	}).Parse(htmlPage)
	if err != nil {
		return fmt.Errorf("read the page's template: %w", err)
	}
	return t.Execute(w, htmlData{r, r.sections2(), r.meaning(), r.tone()})
}

// htmlData is what the page is made of.
type htmlData struct {
	*Report
	Parts   []htmlPart
	Meaning string
	Tone    string
}

// htmlPart is a section as the page shows it.
type htmlPart struct {
	ID, Title string
	Blocks    []any
}

func (r *Report) sections2() (all []htmlPart) {
	for _, s := range r.sections() {
		all = append(all, htmlPart{s.id, s.title, s.blocks})
	}
	return all
}

// tone colours the page's head.
func (r *Report) tone() string {
	switch {
	case r.Sessions.Corrupted > 0:
		return "bad"
	case r.Sessions.All == 0:
		return "none"
	}
	return "good"
}

func is[T any](b any) bool {
	_, ok := b.(T)
	return ok
}

// svg is drawn here, and what it shows of journals is escaped where it is
// drawn.
func svg(b any) template.HTML { return template.HTML(b.(chart).svg()) }

func lines(b any) []string { return b.(bullets) }

func findingText(b any) [2]string {
	f := b.(finding)
	return [2]string{f.text, f.grounds}
}

// htmlCell is a cell and how it stands.
type htmlCell struct {
	Text  string
	Right bool
}

func folds(b any) bool { return b.(table).fold }

func tableHead(b any) []htmlCell {
	t := b.(table)
	return t.cells(t.head)
}

func tableCells(b any) (rows [][]htmlCell) {
	t := b.(table)
	for _, row := range t.rows {
		rows = append(rows, t.cells(row))
	}
	return rows
}

func (t *table) cells(row []string) (all []htmlCell) {
	for i, c := range row {
		all = append(all, htmlCell{c, t.right[i] == 'r'})
	}
	return all
}
