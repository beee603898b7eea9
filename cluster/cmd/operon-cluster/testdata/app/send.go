package main

import (
	"bytes"
	"io"
	"log"
	"net"
	"os"
	"strconv"
	"time"
)

// patience is how long an answer may take.
const patience = 20 * time.Second

// send sends so many bytes, says that it is all, and prints what comes back.
func send(address, count string) {
	n, err := strconv.Atoi(count)
	if err != nil {
		log.Fatal(err)
	}
	conn, err := net.DialTimeout("tcp", address, patience)
	if err != nil {
		log.Fatal(err)
	}
	if _, err := conn.Write(bytes.Repeat([]byte("x"), n)); err != nil {
		log.Fatal(err)
	}
	if err := conn.(*net.TCPConn).CloseWrite(); err != nil {
		log.Fatal(err)
	}
	if _, err := io.Copy(os.Stdout, conn); err != nil {
		log.Fatal(err)
	}
}
