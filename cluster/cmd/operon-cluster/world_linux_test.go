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
	// worldAddress is that of everything outside, in a part of 198.18.0.0/15 that clusters
	// do not use.
	worldAddress = "198.19.200.1"
	// worldName and registryName lead to it.
	worldName    = "world.example"
	registryName = "registry.example"
	// sixName has an address of version 6 only, which is reached by nobody.
	sixName = "six.example"
	// slowName leads there, too, and is answered slowly.
	slowName = "slow.example"
	// silentAddress is nobody's.
	silentAddress = "198.19.200.2"
)

// world is a network of a test's own, and mounts, in which clusters run and find something
// outside of them: a thread that is in it, and does what it is given.
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

// onThread does something on a thread of its own, which is never unlocked and ends with it; with
// the thread go its network and mounts. It is not the process's first thread: by that one others
// see in /proc what this process has.
func onThread(do func()) {
	runtime.LockOSThread()
	if unix.Gettid() != unix.Getpid() {
		do()
		return
	}
	go onThread(do) // on another, as long as this goroutine keeps the first, or it tries again
	runtime.UnlockOSThread()
}

// do runs something in the world, and waits for it.
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
	// As on a machine, what is mounted later is seen in what begins here.
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

// connectWorld gives the world its loopback and its address, and no way to anywhere else.
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

// answerNames has the world's names be answered.
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
			time.Sleep(3 * time.Second) // longer than CoreDNS waits by itself
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

// count has a port say how many bytes it was sent, when the sender has ended.
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

// keepImages starts a registry that wants credentials and shows a certificate. It returns what
// is behind the credentials, and the file of the authority that vouches for it.
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

// certify makes a certificate for a name, and the file of the authority that signed it.
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
