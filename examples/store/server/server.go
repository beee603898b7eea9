// Package server is the store itself: values under keys, in memory, by a text protocol in the manner of
// memcached's, a line for each command, and an answer of a line.
//
//	set KEY VALUE   STORED, or PAUSED
//	get KEY         VALUE text, or NONE
//	flush           OK, or PAUSED
//	dump            JSON of all that there is
//	pause WHO       OK: nothing is set until WHO, and all others who paused it, resume
//	resume WHO      OK, also when WHO has not paused
//	use ROOM        OK: what follows on this connection is about a room of its own
//
// WHO is what makes pausing safe to repeat: twice is once. Rooms let one server serve several Stores, each
// with its own values, where an operator that runs outside of a cluster has but one to talk to.
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

// Store holds the values, by room.
type Store struct {
	mu    sync.Mutex
	rooms map[string]*room
}

// room is what is kept apart.
type room struct {
	values map[string]string
	paused map[string]bool
}

// New returns an empty store.
func New() *Store { return &Store{rooms: map[string]*room{}} }

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
	in := ""
	for lines.Scan() {
		line, answer := lines.Text(), "OK"
		if name, ok := strings.CutPrefix(line, "use "); ok {
			in = name
		} else {
			answer = s.do(in, line)
		}
		if _, err := fmt.Fprintln(conn, answer); err != nil {
			return
		}
	}
}

// do executes a command in a room.
func (s *Store) do(in, line string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.rooms[in] == nil {
		s.rooms[in] = &room{values: map[string]string{}, paused: map[string]bool{}}
	}
	return s.rooms[in].do(line)
}

func (r *room) do(line string) string {
	words := append(strings.SplitN(line, " ", 3), "", "")
	switch verb, key := words[0], words[1]; {
	case verb == "get":
		if value, ok := r.values[key]; ok {
			return "VALUE " + value
		}
		return "NONE"
	case verb == "dump":
		text, err := json.Marshal(r.values)
		if err != nil {
			return "ERROR " + err.Error()
		}
		return string(text)
	case verb == "pause" && key != "":
		r.paused[key] = true
		return "OK"
	case verb == "resume":
		delete(r.paused, key)
		return "OK"
	case (verb == "set" || verb == "flush") && len(r.paused) > 0:
		return "PAUSED"
	case verb == "set" && key != "":
		r.values[key] = words[2]
		return "STORED"
	case verb == "flush":
		clear(r.values)
		return "OK"
	}
	return "ERROR no such command"
}
