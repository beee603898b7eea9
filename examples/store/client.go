package main

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net"
	"strings"
	"time"

	"github.com/operon-framework/operon/examples/store/api/v1alpha1"
)

// client is a connection to the server of one Store.
type client struct {
	conn  net.Conn
	lines *bufio.Reader
}

// patience is the timeout for a response of the server, which takes long on a busy machine.
const patience = time.Minute

func newClient(conn net.Conn) *client { return &client{conn: conn, lines: bufio.NewReader(conn)} }

// dial connects to the server of a Store, or to the Store's room if all Stores share one server.
func (s Store) dial(ctx context.Context, store *v1alpha1.Store) (*client, error) {
	address := cmp.Or(s.Address, fmt.Sprintf("%s.%s.svc:%d", store.Name, store.Namespace, port))
	dialer := net.Dialer{Timeout: patience}
	conn, err := dialer.DialContext(ctx, "tcp", address)
	if err != nil {
		return nil, fmt.Errorf("reach the store: %w", err)
	}
	c := newClient(conn)
	if s.Address == "" {
		return c, nil
	}
	if err := c.use(store); err != nil {
		c.close()
		return nil, fmt.Errorf("reach the store: %w", err)
	}
	return c, nil
}

// use selects the room with the values of a Store for the following commands.
func (c *client) use(store *v1alpha1.Store) error {
	return c.tell("OK", "use %s/%s", store.Namespace, store.Name)
}

func (c *client) close() { _ = c.conn.Close() }

// say sends a command and returns the response.
func (c *client) say(format string, args ...any) (string, error) {
	if err := c.conn.SetDeadline(time.Now().Add(patience)); err != nil {
		return "", err
	}
	if _, err := fmt.Fprintf(c.conn, format+"\n", args...); err != nil {
		return "", err
	}
	answer, err := c.lines.ReadString('\n')
	return strings.TrimSuffix(answer, "\n"), err
}

// tell sends a command, and returns an error unless the response is as wanted.
func (c *client) tell(want, format string, args ...any) error {
	answer, err := c.say(format, args...)
	if err == nil && answer != want {
		err = fmt.Errorf("the store answers %q, want %q", answer, want)
	}
	return err
}

// dump returns all values in the store.
func (c *client) dump() (map[string]string, error) {
	answer, err := c.say("dump")
	if err != nil {
		return nil, err
	}
	values := map[string]string{}
	if err := json.Unmarshal([]byte(answer), &values); err != nil {
		return nil, fmt.Errorf("the store's dump is no JSON: %w", err)
	}
	return values, nil
}
