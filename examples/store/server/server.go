// Package server is the store itself: values under keys, in memory, by a text protocol in the manner of
// memcached's, a line for each command, and an answer of a line.
//
//	set KEY VALUE   STORED, or PAUSED
//	get KEY         VALUE text, or NONE
//	flush           OK, or PAUSED
//	dump            JSON of all that there is
//	pause WHO       OK: nothing is set until WHO, and all others who paused it, resume
//	resume WHO      OK, also when WHO has not paused
//
// WHO is what makes pausing safe to repeat: twice is once.
package server

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"net"
	"strings"
	"sync"
)

// Store holds the values.
type Store struct {
	mu     sync.Mutex
	values map[string]string
	paused map[string]bool
}

// New returns an empty store.
func New() *Store { return &Store{values: map[string]string{}, paused: map[string]bool{}} }

// Serve answers until ctx ends.
func (s *Store) Serve(ctx context.Context, listener net.Listener) error {
	defer context.AfterFunc(ctx, func() { listener.Close() })()
	for {
		conn, err := listener.Accept()
		if ctx.Err() != nil {
			return nil
		}
		if err != nil {
			return err
		}
		go s.serve(ctx, conn)
	}
}

// maxLine is how long a command may be: that of a value, and its key.
const maxLine = 1 << 20

func (s *Store) serve(ctx context.Context, conn net.Conn) {
	defer conn.Close()
	defer context.AfterFunc(ctx, func() { conn.Close() })()
	lines := bufio.NewScanner(conn)
	lines.Buffer(nil, maxLine)
	for lines.Scan() {
		if _, err := fmt.Fprintln(conn, s.do(lines.Text())); err != nil {
			return
		}
	}
}

// do carries out a command.
func (s *Store) do(line string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	words := append(strings.SplitN(line, " ", 3), "", "")
	switch verb, key := words[0], words[1]; {
	case verb == "get":
		if value, ok := s.values[key]; ok {
			return "VALUE " + value
		}
		return "NONE"
	case verb == "dump":
		text, err := json.Marshal(s.values)
		if err != nil {
			return "ERROR " + err.Error()
		}
		return string(text)
	case verb == "pause" && key != "":
		s.paused[key] = true
		return "OK"
	case verb == "resume":
		delete(s.paused, key)
		return "OK"
	case (verb == "set" || verb == "flush") && len(s.paused) > 0:
		return "PAUSED"
	case verb == "set" && key != "":
		s.values[key] = words[2]
		return "STORED"
	case verb == "flush":
		clear(s.values)
		return "OK"
	}
	return "ERROR no such command"
}
