package oracle_test

import (
	"slices"
	"strings"
	"time"

	"github.com/operon-framework/operon/internal/prove/runlog"
)

// exit adds an exit of the operator.
func (w *teller) exit(words []string) {
	exit := runlog.Exit{At: w.now, After: time.Minute, Asked: words[1] == "asked", Code: 1, Log: []string{"goodbye"}}
	if len(w.trace.Steps) > 0 {
		exit.Step = w.trace.Steps[len(w.trace.Steps)-1].Name
	}
	if words[1] == "panic" {
		exit.Panic = strings.Join(words[2:], " ")
	}
	if slices.Contains(words, "early") {
		exit.After = time.Second
	}
	if slices.Contains(words, "slow") {
		exit.After, exit.Slow = 15*time.Second, 8
	}
	if slices.Contains(words, "port") {
		exit.Log = []string{"listen tcp :8080: bind: address already in use"}
	}
	if slices.Contains(words, "usage") {
		exit.Log = []string{"flag provided but not defined: -x", "Usage of op:", "  -a string", "    \tan address"}
	}
	if slices.Contains(words, "certificate") {
		exit.Log = []string{"open /tmp/k8s-webhook-server/serving-certs/tls.crt: no such file or directory"}
	}
	w.trace.Exits = append(w.trace.Exits, exit)
}
