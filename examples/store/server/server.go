// Package server is the store server. It stores values by key, in memory, and serves a text protocol similar to memcached's,
// with one line for each command and one line for each response.
//
//	set KEY VALUE   STORED, or PAUSED
//	get KEY         VALUE text, or NONE
//	flush           OK, or PAUSED
//	dump            JSON of all values
//	pause WHO       OK: no value can be set until WHO, and all others who paused it, resume
//	resume WHO      OK, also when WHO has not paused
//	use ROOM        OK: the following commands on this connection use a separate room
//
// WHO makes it safe to repeat a pause: two pauses with the same name count as one. Rooms allow one server to serve several
// Stores, each with its own values. An operator that runs outside of a cluster needs this, because it has only one server.
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

// Store contains the values, by room.
type Store struct {
	mu    sync.Mutex
	rooms map[string]*room
}

// room contains separate values.
type room struct {
	values map[string]string
	paused map[string]bool
}

// New returns an empty store.
func New() *Store { return &Store{rooms: map[string]*room{}} }

// Serve serves connections until ctx ends.
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

// maxLine is the maximum length of a command, including a key and a value.
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
