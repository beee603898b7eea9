// Package ports reserves ports on loopback for programs that are told where to listen. A port that was only looked
// for belongs to nobody until the program listens, which takes it a while; whatever asks the system for any port
// in the meantime may be given the same one.
//
//	port, err := ports.Reserve()
//	defer port.Close() // when the program has ended
//	program.Start("--listen=" + port.Address())
package ports

import (
	"fmt"
	"net"
	"strconv"
)

// Port is a port on loopback that is kept for whoever knows its number.
type Port struct {
	// Number of the port.
	Number int
	free   func() error
}

// Address is HOST:PORT.
func (p *Port) Address() string { return net.JoinHostPort("127.0.0.1", strconv.Itoa(p.Number)) }

// Close gives the port back. Who listens there continues to.
func (p *Port) Close() error { return p.free() }

// Reserve takes a port that is free. On Linux the system gives it to nobody who asks for any port, while
// programs can listen there; elsewhere it was free a moment ago, and no more.
func Reserve() (*Port, error) {
	port, err := reserve()
	if err != nil {
		return nil, fmt.Errorf("find a free port on loopback: %w", err)
	}
	return port, nil
}
