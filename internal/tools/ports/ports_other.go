//go:build !linux

package ports

import "net"

func reserve() (*Port, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	defer listener.Close()
	return &Port{Number: listener.Addr().(*net.TCPAddr).Port, free: func() error { return nil }}, nil
}
