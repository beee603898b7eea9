// Package ports reserves ports on the loopback interface for programs that get their address as an argument. A free port that
// is only looked up is not reserved until the program listens, which takes a while. In the meantime, the system may give the
// same port to another program that asks for any port.
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

// Port is a reserved port on the loopback interface. Programs that know its number can use it.
type Port struct {
	// Number is the number of the port.
	Number int
	free   func() error
}

// Address is HOST:PORT.
func (p *Port) Address() string { return net.JoinHostPort("127.0.0.1", strconv.Itoa(p.Number)) }

// Close ends the reservation. A program that listens on the port is not affected.
func (p *Port) Close() error { return p.free() }

// Reserve reserves a free port. On Linux, the system does not give it to programs that ask for any port, but programs can
// listen on it. On other systems, the port was free just before the call returns, without any guarantee.
func Reserve() (*Port, error) {
	port, err := reserve()
	if err != nil {
		return nil, fmt.Errorf("find a free port on loopback: %w", err)
	}
	return port, nil
}
