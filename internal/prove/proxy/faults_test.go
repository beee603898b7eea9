package proxy_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"

	"github.com/operon-framework/operon/internal/prove/fault"
	"github.com/operon-framework/operon/internal/prove/proxy"
	"github.com/operon-framework/operon/internal/prove/requestlog"
	"github.com/operon-framework/operon/local/localtest"
)

// creations matches the second creation of a ConfigMap.
var creations = fault.Match{Verb: "create", Resource: "configmaps", Nth: 2}

// answers contains the faults that are responses, and how a client recognizes each of them.
var answers = map[fault.Kind]func(error) bool{
	fault.Conflict:      apierrors.IsConflict,
	fault.AlreadyExists: apierrors.IsAlreadyExists,
	fault.NotFound:      apierrors.IsNotFound,
	fault.ServerError:   apierrors.IsInternalError,
	fault.Unavailable:   apierrors.IsServiceUnavailable,
	fault.TimeOut:       apierrors.IsTimeout,
}

func TestAnswerAtAChosenOccurrence(t *testing.T) {
	t.Parallel()
	for kind, is := range answers {
		for _, moment := range []fault.Moment{fault.Before, fault.Effect} {
			for _, contentType := range []string{runtime.ContentTypeJSON, runtime.ContentTypeProtobuf} {
				t.Run(string(kind)+" "+string(moment)+" "+contentType, func(t *testing.T) {
					t.Parallel()
					s := newStand(t, fault.Fault{Kind: kind, Moment: moment, On: creations})
					config := s.Proxy.Config()
					config.ContentType = contentType
					client := s.configMaps(config)
					for _, name := range []string{"one", "two", "three"} {
						_, err := client.Create(t.Context(), configMap(name, nil), metav1.CreateOptions{})
						if struck := name == "two"; struck != is(err) || !struck && err != nil {
							t.Errorf("%s: %v", name, err)
						}
						if got, want := s.there(name), name != "two" || moment == fault.Effect; got != want {
							t.Errorf("%s is there: %v, want %v", name, got, want)
						}
					}
					s.answered(moment)
				})
			}
		}
	}
}

// answered checks the record of a creation whose response was replaced by a fault.
func (s *stand) answered(moment fault.Moment) {
	s.Helper()
	r := s.recorded("create", "two")
	want, served := requestlog.Unchanged, 0
	if moment == fault.Effect {
		want, served = requestlog.Changed, http.StatusCreated
	}
	if r.Effect != want || r.Served != served || r.Status < 400 || r.Fault == "" {
		s.Errorf("recorded is %+v", r)
	}
	if left := s.script.Pending(); left != nil {
		s.Errorf("pending are %v", left)
	}
}

// A Kubernetes client waits for the time in Retry-After and then retries.
func TestThrottle(t *testing.T) {
	t.Parallel()
	for _, moment := range []fault.Moment{fault.Before, fault.Effect} {
		t.Run(string(moment), func(t *testing.T) {
			t.Parallel()
			s := newStand(t, fault.Fault{Kind: fault.Throttle, Moment: moment, RetryAfter: 1, On: fault.Match{Verb: "create", Name: "one"}})
			started := time.Now()
			_, err := s.configMaps().Create(t.Context(), configMap("one", nil), metav1.CreateOptions{})
			if applied := moment == fault.Effect; applied != apierrors.IsAlreadyExists(err) || !applied && err != nil {
				t.Error(err)
			}
			if took := time.Since(started); took < time.Second {
				t.Errorf("tried again after %s", took)
			}
			localtest.Eventually(t, "the record of two requests", func(context.Context) error {
				var statuses []int
				for _, r := range s.Record().Requests() {
					statuses = append(statuses, r.Status)
				}
				if len(statuses) != 2 || statuses[0] != http.StatusTooManyRequests {
					return fmt.Errorf("statuses %v", statuses)
				}
				return nil
			})
		})
	}
}

// protocols contains the versions of HTTP that a client may use.
var protocols = map[string][]string{"HTTP/1.1": {"http/1.1"}, "HTTP/2": nil}

func TestCut(t *testing.T) {
	t.Parallel()
	for protocol, next := range protocols {
		for _, moment := range []fault.Moment{fault.Before, fault.Effect} {
			t.Run(protocol+" "+string(moment), func(t *testing.T) {
				t.Parallel()
				s := newStand(t, fault.Fault{Kind: fault.Cut, Moment: moment, On: creations})
				client := s.configMaps(s.speaking(next))
				for _, name := range []string{"one", "two", "three"} {
					_, err := client.Create(t.Context(), configMap(name, nil), metav1.CreateOptions{})
					var status apierrors.APIStatus
					if (err != nil) != (name == "two") || errors.As(err, &status) {
						t.Errorf("%s: %v", name, err)
					}
					if got, want := s.there(name), name != "two" || moment == fault.Effect; got != want {
						t.Errorf("%s is there: %v, want %v", name, got, want)
					}
				}
				r := s.recorded("create", "two")
				if r.Status != 0 || r.Error != "" || (r.Effect == requestlog.Changed) != (moment == fault.Effect) {
					t.Errorf("recorded is %+v", r)
				}
			})
		}
	}
}

func (s *stand) speaking(protocols []string) *rest.Config {
	config := s.Proxy.Config()
	config.NextProtos = protocols
	return config
}

// After the response the connection is cut, including a watch on it.
func TestCutAfterTheAnswer(t *testing.T) {
	t.Parallel()
	s := newStand(t, fault.Fault{Kind: fault.Cut, Moment: fault.Answer, On: creations})
	client := s.configMaps()
	watch, err := client.Watch(t.Context(), metav1.ListOptions{})
	s.must(err)
	defer watch.Stop()
	for _, name := range []string{"one", "two"} {
		_, err := client.Create(t.Context(), configMap(name, nil), metav1.CreateOptions{})
		s.must(err)
	}
	ended := time.After(localtest.Patience)
	for open := true; open; {
		select {
		case _, open = <-watch.ResultChan():
		case <-ended:
			t.Fatal("the watch goes on")
		}
	}
	_, err = client.Create(t.Context(), configMap("three", nil), metav1.CreateOptions{})
	s.must(err)
}

func TestKill(t *testing.T) {
	t.Parallel()
	for moment, want := range map[fault.Moment]struct{ answered, applied bool }{
		fault.Before: {false, false}, fault.Effect: {false, true}, fault.Answer: {true, true},
	} {
		for protocol, next := range protocols {
			t.Run(string(moment)+" "+protocol, func(t *testing.T) {
				t.Parallel()
				var kills atomic.Int32
				killed := make(chan bool, 1)
				var s *stand
				s = standWith(t, proxy.Options{Kill: func() {
					kills.Add(1)
					killed <- s.there("two")
				}}, fault.Fault{Kind: fault.Kill, Moment: moment, On: creations})
				client := s.configMaps(s.speaking(next))
				_, err := client.Create(t.Context(), configMap("one", nil), metav1.CreateOptions{})
				s.must(err)
				_, err = client.Create(t.Context(), configMap("two", nil), metav1.CreateOptions{})
				if (err == nil) != want.answered {
					t.Errorf("answered with %v", err)
				}
				if was := localtest.Receive(t, "the end", killed); was != want.applied || s.there("two") != want.applied {
					t.Errorf("applied when killed: %v, want %v", was, want.applied)
				}
				_, err = client.Create(t.Context(), configMap("three", nil), metav1.CreateOptions{})
				s.must(err)
				if n := kills.Load(); n != 1 {
					t.Errorf("killed %d times", n)
				}
			})
		}
	}
}

func TestKillNeedsAKiller(t *testing.T) {
	t.Parallel()
	script, err := fault.NewScript(fault.Fault{Kind: fault.Kill})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := proxy.Start(proxy.Options{Server: &rest.Config{Host: "https://127.0.0.1:1"}, Script: script}); err == nil {
		t.Error("started")
	}
}

func TestDelay(t *testing.T) {
	t.Parallel()
	const while = 1500 * time.Millisecond
	for _, moment := range []fault.Moment{fault.Before, fault.Effect} {
		t.Run(string(moment), func(t *testing.T) {
			t.Parallel()
			s := newStand(t, fault.Fault{Kind: fault.Delay, Moment: moment, For: metav1.Duration{Duration: while}, On: creations})
			client := s.configMaps()
			_, err := client.Create(t.Context(), configMap("one", nil), metav1.CreateOptions{})
			s.must(err)
			started := time.Now()
			two, err := client.Create(t.Context(), configMap("two", nil), metav1.CreateOptions{})
			s.must(err)
			answered, made := time.Now(), two.CreationTimestamp.Time // truncated to a whole second
			if took := answered.Sub(started); took < while {
				t.Errorf("took %s", took)
			}
			if moment == fault.Before && made.Before(started.Add(while).Truncate(time.Second)) {
				t.Errorf("it was made %s after the request came", made.Sub(started))
			}
			if moment == fault.Effect && answered.Sub(made) < while {
				t.Errorf("it was made %s before the answer", answered.Sub(made))
			}
		})
	}
}

func TestCutWatch(t *testing.T) {
	t.Parallel()
	for _, contentType := range []string{runtime.ContentTypeJSON, runtime.ContentTypeProtobuf} {
		t.Run(contentType, func(t *testing.T) {
			t.Parallel()
			s := newStand(t, fault.Fault{Kind: fault.CutWatch, Events: 2, On: fault.Match{Verb: "watch", Resource: "configmaps"}})
			config := s.Proxy.Config()
			config.ContentType = contentType
			client := s.configMaps(config)
			for _, name := range []string{"one", "two", "three"} {
				_, err := client.Create(t.Context(), configMap(name, nil), metav1.CreateOptions{})
				s.must(err)
			}
			of := metav1.ListOptions{FieldSelector: "metadata.name!=kube-root-ca.crt", ResourceVersion: "0"}
			if got := s.events(client, of, 3); got != 2 {
				t.Errorf("the first watch shows %d events", got)
			}
			if got := s.events(client, of, 3); got != 3 {
				t.Errorf("the second watch shows %d events", got)
			}
			if r := s.recorded("watch", ""); r.Fault == "" && r.Events != 3 {
				t.Errorf("recorded is %+v", r)
			}
		})
	}
}
