package main

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"os"
	"strconv"
	"time"
)

// patience is how long an answer may take. An answer by UDP gets less time: the next attempt of a test comes from another port, to
// which the node applies its current rules.
const (
	patience = 2 * time.Minute
	asking   = 30 * time.Second
)

func number(text string) int {
	n, err := strconv.Atoi(text)
	if err != nil {
		log.Fatal(err)
	}
	return n
}

// send sends so many bytes, says that it is all, and prints what comes back.
func send(address string, count int) {
	conn := connect("tcp", address)
	if _, err := conn.Write(bytes.Repeat([]byte("x"), count)); err != nil {
		log.Fatal(err)
	}
	closed := conn.(*net.TCPConn).CloseWrite() // fails if the other side has reset the connection, and then so does the read
	_, err := io.Copy(os.Stdout, conn)
	if err := cmp.Or(err, closed); err != nil {
		log.Fatal(err)
	}
}

// many has so many connections at once, and then something said by each.
func many(address string, count int) {
	var all []net.Conn
	for range count {
		all = append(all, connect("tcp", address))
	}
	answered := 0
	for _, conn := range all {
		expire(conn) // again, because the others have taken time
		if err := conn.(*net.TCPConn).CloseWrite(); err != nil {
			log.Fatal(err)
		}
		if said, err := io.ReadAll(conn); err == nil && string(said) == "0 <nil>\n" {
			answered++
		}
	}
	fmt.Println(answered, "were answered")
}

// ask sends a packet of UDP, again each second, as one may be lost, and prints the one that comes back.
func ask(address string) {
	conn := connect("udp", address)
	answer := make([]byte, 1500)
	for end := time.Now().Add(asking); ; {
		if _, err := conn.Write([]byte("x")); err != nil {
			log.Fatal(err)
		}
		if err := conn.SetReadDeadline(time.Now().Add(time.Second)); err != nil {
			log.Fatal(err)
		}
		n, err := conn.Read(answer)
		if err == nil {
			fmt.Printf("%s", answer[:n])
			return
		}
		if !errors.Is(err, os.ErrDeadlineExceeded) || time.Now().After(end) {
			log.Fatal(err)
		}
	}
}

// connect connects, and ends everything when that, or what follows, takes too long.
func connect(network, address string) net.Conn {
	conn, err := net.DialTimeout(network, address, patience)
	if err != nil {
		log.Fatal(err)
	}
	expire(conn)
	return conn
}

// expire makes reads and writes fail when an answer takes too long from now on.
func expire(conn net.Conn) {
	if err := conn.SetDeadline(time.Now().Add(patience)); err != nil {
		log.Fatal(err)
	}
}
