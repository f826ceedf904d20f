package proxy

import (
	"encoding/json"
	"io"
	"net/http"

	"turnwatch/proxy/pairs"
)

// shadow answers GET /shadow: a pairs.Report, of the model and the fingerprint in the
// query alone if they are there.
func (a *Admin) shadow(w http.ResponseWriter, r *http.Request) {
	report, ok := a.report(r)
	if !ok {
		say(w, http.StatusNotFound, "there is no shadow traffic: see -shadow")
		return
	}
	answer(w, http.StatusOK, report)
}

func (a *Admin) report(r *http.Request) (pairs.Report, bool) {
	if a.cfg.Shadow == nil {
		return pairs.Report{}, false
	}
	report, ok := a.cfg.Shadow()
	q := r.URL.Query()
	return report.Of(q.Get("model"), q.Get("fingerprint")), ok
}

// gateAnswer is what POST /shadow/gate answers.
type gateAnswer struct {
	Ask    string `json:"ask"`
	Answer bool   `json:"answer"`
	Word   string `json:"word"`
	Text   string `json:"text"`
}

// maxGateBody bounds what is read of a question.
const maxGateBody = 64 << 10

// gate answers POST /shadow/gate?ask=promote|rollback: 200 for yes and 409 for no. Who
// asks may send the token as metadata.token of a JSON body, as those do who cannot send
// header fields.
func (a *Admin) gate(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxGateBody))
	if err != nil {
		say(w, http.StatusRequestEntityTooLarge, "the question is too long")
		return
	}
	if !a.allowed(r) && !a.allowedBy(body) {
		a.refuse(w)
		return
	}
	report, ok := a.report(r)
	if !ok {
		say(w, http.StatusNotFound, "there is no shadow traffic: see -shadow")
		return
	}
	g := gateAnswer{Ask: r.URL.Query().Get("ask"), Word: string(report.Word), Text: report.Text}
	switch g.Ask {
	case "promote":
		g.Answer = report.Promote
	case "rollback":
		g.Answer = report.Rollback
	default:
		say(w, http.StatusBadRequest, "ask=promote or ask=rollback is wanted in the query")
		return
	}
	status := http.StatusConflict
	if g.Answer {
		status = http.StatusOK
	}
	answer(w, status, g)
}

// allowedBy looks for the token in the body of a webhook.
func (a *Admin) allowedBy(body []byte) bool {
	var hook struct {
		Metadata struct {
			Token string `json:"token"`
		} `json:"metadata"`
	}
	return json.Unmarshal(body, &hook) == nil && a.known(hook.Metadata.Token)
}

// answer writes v as JSON.
func answer(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	json.NewEncoder(w).Encode(v) // plain data; who asked may have left
}
