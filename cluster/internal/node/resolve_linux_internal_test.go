//go:build linux

package node

import (
	"net"
	"testing"
	"time"

	"github.com/miekg/dns"
)

// A name is resolved if one DNS server of this machine can resolve it, regardless of how the others fail.
func TestResolve(t *testing.T) {
	t.Parallel()
	silent := answering(t, 0, -1)
	broken, refusing := answering(t, 0, dns.RcodeServerFailure), answering(t, 0, dns.RcodeRefused)
	knowing, denying := answering(t, 0, dns.RcodeSuccess), answering(t, 0, dns.RcodeNameError)
	slow := answering(t, 3*timing.answerTimeout/2, dns.RcodeSuccess)
	nobody := "127.0.0.1:1"
	for name, c := range map[string]struct {
		servers []string
		want    int
	}{
		"no server":             {nil, dns.RcodeServerFailure},
		"a name that is not":    {[]string{denying, silent}, dns.RcodeNameError},
		"the first is silent":   {[]string{silent, knowing}, dns.RcodeSuccess},
		"the first is broken":   {[]string{broken, refusing, knowing}, dns.RcodeSuccess},
		"nobody is there":       {[]string{nobody, knowing}, dns.RcodeSuccess},
		"all are broken":        {[]string{nobody, broken, refusing}, dns.RcodeServerFailure},
		"the one there is slow": {[]string{slow}, dns.RcodeSuccess},
		"the first is slow":     {[]string{slow, silent}, dns.RcodeSuccess},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			question := new(dns.Msg).SetQuestion("a.name.example.", dns.TypeA)
			if answer := resolve(t.Context(), c.servers, "udp", question); answer.Rcode != c.want || answer.Id != question.Id {
				t.Errorf("%s, want %s", dns.RcodeToString[answer.Rcode], dns.RcodeToString[c.want])
			}
		})
	}
}

// answering starts a server that answers each query with a code after a delay, or never if code is -1.
func answering(t *testing.T, after time.Duration, code int) string {
	t.Helper()
	packets, err := net.ListenPacket("udp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := &dns.Server{PacketConn: packets, Handler: dns.HandlerFunc(func(w dns.ResponseWriter, question *dns.Msg) {
		if code < 0 {
			return
		}
		time.Sleep(after) // the test is about slow answers
		_ = w.WriteMsg(new(dns.Msg).SetRcode(question, code))
	})}
	go server.ActivateAndServe()
	t.Cleanup(func() { packets.Close() })
	return packets.LocalAddr().String()
}

func TestQuestionsAreLimited(t *testing.T) {
	t.Parallel()
	inside, leave := make(chan struct{}), make(chan struct{})
	handler := atMost(1, func(dns.ResponseWriter, *dns.Msg) { inside <- struct{}{}; <-leave })
	go handler(nil, nil)
	<-inside
	handler(nil, nil) // is dropped
	close(leave)
}
