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

// questions ask on a terminal for flags that were not given. Without a terminal nothing is asked: what
// has no default is missing then, and the command says so.
type questions struct {
	command *cobra.Command
	answers *bufio.Reader
	err     error
}

// onTerminal reports whether somebody is there to be asked.
var onTerminal = func() bool { return term.IsTerminal(int(os.Stdin.Fd())) && term.IsTerminal(int(os.Stderr.Fd())) }

func newQuestions(command *cobra.Command) *questions {
	q := &questions{command: command}
	if onTerminal() {
		q.answers = bufio.NewReader(command.InOrStdin())
	}
	return q
}

// ask asks for the value of a flag unless it was given, again and again until check finds nothing
// wrong with the answer. An empty answer is the usual value.
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
