package main

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"github.com/miekg/dns"
	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"github.com/operon-framework/operon/cluster/internal/registry"
)

const (
	// worldAddress is the address of everything outside of clusters, in a part of 198.18.0.0/15 that clusters do not use.
	worldAddress = "198.19.200.1"
	// worldName and registryName resolve to worldAddress.
	worldName    = "world.example"
	registryName = "registry.example"
	// sixName has only an IPv6 address, which is unreachable.
	sixName = "six.example"
	// slowName resolves to worldAddress, too, but slowly.
	slowName = "slow.example"
	// silentAddress is an address that no server uses.
	silentAddress = "198.19.200.2"
)

// world is a separate network and mount namespace of a test, in which clusters run and reach servers outside of them. It is a
// thread in these namespaces that executes functions.
type world struct {
	t    *testing.T
	work chan func()
}

func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{t: t, work: make(chan func())}
	entered := make(chan error)
	go onThread(func() {
		entered <- enterWorld(t.TempDir())
		for do := range w.work {
			do()
		}
	})
	if err := <-entered; err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { close(w.work) })
	return w
}

// onThread runs do on a separate thread, which is never unlocked and ends with do. The network and mounts of the thread end
// with it. It is never the first thread of the process: other programs see the network and mounts of that thread in /proc as
// the process's.
func onThread(do func()) {
	runtime.LockOSThread()
	if unix.Gettid() != unix.Getpid() {
		do()
		return
	}
	go onThread(do) // on another thread while this goroutine holds the first one; otherwise it tries again
	runtime.UnlockOSThread()
}

// do runs a function in the world and waits for its result.
func (w *world) do(something func() error) error {
	done := make(chan error)
	w.work <- func() { done <- something() }
	return <-done
}

func enterWorld(folder string) error {
	if err := unix.Unshare(unix.CLONE_NEWNET | unix.CLONE_NEWNS); err != nil {
		return fmt.Errorf("a network of its own: %w", err)
	}
	if err := unix.Mount("", "/", "", unix.MS_PRIVATE|unix.MS_REC, ""); err != nil {
		return err
	}
	// As on a real machine, later mounts are visible in mount namespaces that are created from this one.
	if err := unix.Mount("", "/", "", unix.MS_SHARED|unix.MS_REC, ""); err != nil {
		return err
	}
	resolver, err := filepath.EvalSymlinks("/etc/resolv.conf")
	if err != nil {
		return err
	}
	own := filepath.Join(folder, "resolv.conf")
	if err := os.WriteFile(own, []byte("nameserver "+silentAddress+"\nnameserver "+worldAddress+"\n"), 0o644); err != nil {
		return err
	}
	if err := unix.Mount(own, resolver, "", unix.MS_BIND, ""); err != nil {
		return err
	}
	return connectWorld()
}

// connectWorld sets up the loopback and the address of the world, and no route to any other network.
func connectWorld() error {
	loopback, err := netlink.LinkByName("lo")
	if err != nil {
		return err
	}
	attrs := netlink.NewLinkAttrs()
	attrs.Name = "world0"
	link := &netlink.Bridge{LinkAttrs: attrs}
	if err := netlink.LinkAdd(link); err != nil {
		return err
	}
	address, err := netlink.ParseAddr(worldAddress + "/24")
	if err != nil {
		return err
	}
	return errors.Join(netlink.LinkSetUp(loopback), netlink.LinkSetUp(link), netlink.AddrAdd(link, address))
}

// listen opens a listener in the world.
func (w *world) listen(port int) (listener net.Listener) {
	w.t.Helper()
	err := w.do(func() (err error) {
		listener, err = net.Listen("tcp4", fmt.Sprintf("%s:%d", worldAddress, port))
		return err
	})
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() { listener.Close() })
	return listener
}

// answerNames starts a DNS server for the names of the world.
func (w *world) answerNames() {
	w.t.Helper()
	var packets net.PacketConn
	err := w.do(func() (err error) {
		packets, err = net.ListenPacket("udp4", worldAddress+":53")
		return err
	})
	if err != nil {
		w.t.Fatal(err)
	}
	server := &dns.Server{PacketConn: packets, Handler: dns.HandlerFunc(func(rw dns.ResponseWriter, question *dns.Msg) {
		answer := new(dns.Msg).SetReply(question)
		asked := question.Question[0]
		head := dns.RR_Header{Name: asked.Name, Rrtype: asked.Qtype, Class: dns.ClassINET, Ttl: 1}
		switch {
		case asked.Name == sixName+".":
			if asked.Qtype == dns.TypeAAAA {
				answer.Answer = []dns.RR{&dns.AAAA{Hdr: head, AAAA: net.ParseIP("2001:db8::1")}}
			}
		case asked.Name == slowName+".":
			time.Sleep(3 * time.Second) // longer than the default timeout of CoreDNS
			if asked.Qtype == dns.TypeA {
				answer.Answer = []dns.RR{&dns.A{Hdr: head, A: net.ParseIP(worldAddress)}}
			}
		case asked.Name != worldName+"." && asked.Name != registryName+".":
			answer.Rcode = dns.RcodeNameError
		case asked.Qtype == dns.TypeA:
			answer.Answer = []dns.RR{&dns.A{Hdr: head, A: net.ParseIP(worldAddress)}}
		}
		_ = rw.WriteMsg(answer)
	})}
	go server.ActivateAndServe()
	w.t.Cleanup(func() { server.Shutdown() })
}

// count starts a server on a port that responds with the number of bytes it received, after the sender has closed its side.
func (w *world) count(port int) {
	listener := w.listen(port)
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			go func() {
				n, err := io.Copy(io.Discard, conn)
				fmt.Fprintln(conn, n, err)
				conn.Close()
			}()
		}
	}()
}

// keepImages starts a TLS registry that requires credentials. It returns the handler behind the credential check, and the file
// with the certificate authority of the server.
func (w *world) keepImages(user, password string) (images http.Handler, authority string) {
	w.t.Helper()
	served, err := registry.Open(w.t.TempDir(), false)
	if err != nil {
		w.t.Fatal(err)
	}
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(rw http.ResponseWriter, request *http.Request) {
		if name, secret, ok := request.BasicAuth(); !ok || name != user || secret != password {
			rw.Header().Set("WWW-Authenticate", `Basic realm="images"`)
			http.Error(rw, "who are you?", http.StatusUnauthorized)
			return
		}
		served.ServeHTTP(rw, request)
	}))
	server.Listener.Close()
	server.Listener = w.listen(443)
	var certificate tls.Certificate
	certificate, authority = certify(w.t, registryName)
	server.TLS = &tls.Config{Certificates: []tls.Certificate{certificate}}
	server.StartTLS()
	w.t.Cleanup(server.Close)
	return served, authority
}

// certify creates a certificate for a name, and the file of the authority that signed it.
func certify(t *testing.T, name string) (certificate tls.Certificate, authority string) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), DNSNames: []string{name}, NotAfter: time.Now().Add(time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	authority = filepath.Join(t.TempDir(), "ca.crt")
	if err := os.WriteFile(authority, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), 0o600); err != nil {
		t.Fatal(err)
	}
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, authority
}
