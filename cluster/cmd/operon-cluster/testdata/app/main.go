// app is what the tests' containers run.
package main

import (
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"os"
	"os/signal"
	"syscall"
	"time"
)

func main() {
	if len(os.Args) < 2 {
		log.Fatal("want a verb")
	}
	switch os.Args[1] {
	case "serve":
		serve()
	case "farewell":
		terminated()
		api("services")
	case "get":
		get(os.Args[2])
	case "send":
		send(os.Args[2], number(os.Args[3]))
	case "many":
		many(os.Args[2], number(os.Args[3]))
	case "ask":
		ask(os.Args[2])
	case "api":
		api(os.Args[2:]...)
	case "burn":
		for {
		}
	case "say":
		fmt.Println(os.Args[2:])
	default:
		log.Fatalf("no verb %q", os.Args[1])
	}
}

// serve says hello, by TCP and by UDP, until it is told to end.
func serve() {
	http.HandleFunc("/", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "hello") })
	listener, err := net.Listen("tcp", ":8080")
	if err != nil {
		log.Fatal(err)
	}
	packets, err := net.ListenPacket("udp", ":8080")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("serving")
	go http.Serve(listener, nil)
	go answer(packets)
	terminated()
}

// terminated returns when the program is told to end.
func terminated() {
	end := make(chan os.Signal, 1)
	signal.Notify(end, syscall.SIGTERM)
	<-end
}

// answer says hello to each packet.
func answer(packets net.PacketConn) {
	for {
		_, from, err := packets.ReadFrom(make([]byte, 1500))
		if err != nil {
			log.Fatal(err)
		}
		if _, err := packets.WriteTo([]byte("hello"), from); err != nil {
			log.Print(err)
		}
	}
}

// get prints what is at a URL.
func get(url string) {
	client := &http.Client{Timeout: 5 * time.Minute} // who waits for the pod gives up first
	response, err := client.Get(url)
	if err != nil {
		log.Fatal(err)
	}
	if _, err := io.Copy(os.Stdout, response.Body); err != nil {
		log.Fatal(err)
	}
}
