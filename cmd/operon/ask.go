package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/term"
)

// questions asks on a terminal for flags that were not set. Without a terminal, nothing is asked: a flag without a default is
// then missing, and the command reports that.
type questions struct {
	command *cobra.Command
	answers *bufio.Reader
	err     error
}

// onTerminal reports whether a user can answer questions.
var onTerminal = func() bool { return term.IsTerminal(int(os.Stdin.Fd())) && term.IsTerminal(int(os.Stderr.Fd())) }

func newQuestions(command *cobra.Command) *questions {
	q := &questions{command: command}
	if onTerminal() {
		q.answers = bufio.NewReader(command.InOrStdin())
	}
	return q
}

// ask asks for the value of a flag unless it was set, and repeats the question until check accepts the answer. An empty answer
// selects the usual value.
func (q *questions) ask(flag, question string, value *string, usual string, check func(string) error) {
	if q.answers == nil || q.err != nil || q.command.Flags().Changed(flag) {
		return
	}
	for {
		fmt.Fprint(os.Stderr, question)
		if usual != "" {
			fmt.Fprintf(os.Stderr, " [%s]", usual)
		}
		fmt.Fprint(os.Stderr, ": ")
		line, err := q.answers.ReadString('\n')
		if err != nil && (!errors.Is(err, io.EOF) || line == "") {
			q.err = fmt.Errorf("no answer: give --%s", flag)
			return
		}
		if *value = strings.TrimSpace(line); *value == "" {
			*value = usual
		}
		if err := check(*value); err == nil {
			return
		} else {
			fmt.Fprintln(os.Stderr, err)
		}
	}
}
