package main

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"

	"turnwatch/proxy/evidence"
	"turnwatch/proxy/turn"
	"turnwatch/validate"
)

// isEvidence reports whether a folder is that of one corrupted turn.
func isEvidence(dir string) bool {
	_, err := os.Stat(filepath.Join(dir, evidence.FileManifest))
	return err == nil
}

// evidence judges the turn in a folder that turnwatch wrote.
func (r *reader) evidence(dir string) {
	f, err := evidence.Read(dir)
	if err != nil {
		r.fail(dir, 0, err)
		return
	}
	if why := missing(f); why != nil {
		r.pass(dir, 0, why)
		return
	}
	x, err := fromEvidence(f)
	if err != nil {
		r.fail(dir, 0, err)
		return
	}
	r.judge(dir, 0, x)
}

// missing says what is not there to be judged.
func missing(f *evidence.Folder) error {
	for _, lost := range []turn.Drop{f.Request.Lost, f.Answer.Lost} {
		switch lost {
		case "":
		case evidence.LostBodiesOff:
			return errors.New("nothing that was said is in it: turnwatch keeps that with -evidence-bodies")
		case evidence.LostNoCapture:
			return errors.New("nothing that was said is in it: of probes turnwatch keeps nothing")
		default:
			return fmt.Errorf("not all that was said is in it: %s", lost)
		}
	}
	return nil
}

// fromEvidence takes over request and answer, piece by piece as it came.
func fromEvidence(f *evidence.Folder) (*exchange, error) {
	resp, err := http.ReadResponse(bufio.NewReader(bytes.NewReader(f.Answer.Head)), nil)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", evidence.FileAnswerHead, err)
	}
	resp.Body.Close()
	x := &exchange{id: f.Turn.ID, path: f.Turn.Path, request: f.Request.Body, ending: f.Turn.Ending,
		head: validate.Head{Status: resp.StatusCode, ContentType: resp.Header.Get("Content-Type")}}
	body, marks := f.Answer.Body, f.Answer.Marks
	for i, m := range marks {
		end := len(body)
		if i+1 < len(marks) {
			end = marks[i+1].Off
		}
		x.pieces, x.times = append(x.pieces, body[m.Off:end]), append(x.times, m.At)
	}
	return x, nil
}
