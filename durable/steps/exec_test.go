package steps_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"testing/iotest"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/httpstream/wsstream"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"

	"github.com/operon-framework/operon/durable"
	"github.com/operon-framework/operon/durable/artifactstore"
	"github.com/operon-framework/operon/durable/journal"
	"github.com/operon-framework/operon/durable/steps"
	"github.com/operon-framework/operon/internal/core/outcome"
)

// program runs in a container.
type program func(line []string, stdin io.Reader, stdout, stderr io.Writer) (exit int)

// pod returns a connection to an API server that runs a program for each command in pod db-0, with the protocol of a real API
// server.
func pod(t *testing.T, run program) *rest.Config {
	t.Helper()
	channels := []wsstream.ChannelType{wsstream.ReadChannel, wsstream.WriteChannel, wsstream.WriteChannel, wsstream.WriteChannel, wsstream.IgnoreChannel}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/api/v1/namespaces/shop/pods/db-0/exec" {
			http.NotFound(w, r)
			return
		}
		conn := wsstream.NewConn(map[string]wsstream.ChannelProtocolConfig{"v5.channel.k8s.io": {Binary: true, Channels: channels}})
		_, streams, err := conn.Open(w, r)
		if err != nil {
			t.Error(err)
			return
		}
		defer conn.Close()
		end := metav1.Status{Status: metav1.StatusSuccess}
		if exit := run(r.URL.Query()["command"], streams[0], streams[1], streams[2]); exit != 0 {
			end = metav1.Status{Status: metav1.StatusFailure, Reason: "NonZeroExitCode", Details: &metav1.StatusDetails{
				Causes: []metav1.StatusCause{{Type: "ExitCode", Message: strconv.Itoa(exit)}},
			}}
		}
		if err := json.NewEncoder(streams[3]).Encode(end); err != nil {
			t.Error(err)
		}
	}))
	t.Cleanup(server.Close)
	return &rest.Config{Host: server.URL}
}

// carry executes work that consists of steps.
func carry(t *testing.T, connection *rest.Config, cancel string, work func(context.Context, *durable.Run) error) outcome.Outcome {
	t.Helper()
	run := durable.New(durable.Config{
		Object: "uid", Cancel: cancel, Clock: clock.RealClock{}, REST: connection,
		Save:    func(_ context.Context, j *journal.Journal) (*journal.Journal, error) { return j, nil },
		Confirm: func(context.Context) error { return nil },
	})
	o, err := run.Carry(t.Context(), work)
	if err != nil {
		t.Fatal(err)
	}
	return o
}

var command = steps.Command{Namespace: "shop", Pod: "db-0", Command: []string{"dump", "all"}}

// The complete output of a command is stored as a file under the step's key, and passed to another command.
func TestSaveAndLoad(t *testing.T) {
	t.Parallel()
	folder, long := t.TempDir(), strings.Repeat("a row\n", 100_000)
	loaded := make(chan string, 1)
	connection := pod(t, func(line []string, stdin io.Reader, stdout, _ io.Writer) int {
		if line[0] == "dump" {
			fmt.Fprint(stdout, long)
			return 0
		}
		text, err := io.ReadAll(stdin)
		if err != nil {
			t.Error(err)
		}
		loaded <- string(text)
		return 0
	})
	o := carry(t, connection, "", func(ctx context.Context, run *durable.Run) error {
		file, err := durable.Do(ctx, run, steps.Save("save", command, artifactstore.Directory(folder), "monday/all"))
		if err != nil {
			return err
		}
		text, err := os.ReadFile(filepath.Join(folder, file))
		if err != nil || string(text) != long || !strings.HasPrefix(file, "monday/all-") {
			t.Errorf("%s holds %d bytes (%v), want %d", file, len(text), err, len(long))
		}
		load := command
		load.Command = []string{"load"}
		_, err = durable.Do(ctx, run, steps.Load("load", load, artifactstore.Directory(folder), file))
		return err
	})
	if o.Kind() != outcome.KindDone || <-loaded != long {
		t.Errorf("it came to %v, or something else was loaded", o)
	}
}

// shelf is a store that reads content as it gets it.
type shelf struct {
	steps.Files
	content bytes.Buffer
}

func (s *shelf) Put(_ context.Context, _ string, content io.ReadSeeker) error {
	_, err := io.Copy(&s.content, content)
	return err
}

// A store of another package gets the content at its start.
func TestSaveInAnyStore(t *testing.T) {
	t.Parallel()
	connection, files := pod(t, func(_ []string, _ io.Reader, stdout, _ io.Writer) int { fmt.Fprint(stdout, "a row"); return 0 }), &shelf{}
	o := carry(t, connection, "", func(ctx context.Context, run *durable.Run) error {
		_, err := durable.Do(ctx, run, steps.Save("save", command, files, "all"))
		return err
	})
	if got := files.content.String(); o.Kind() != outcome.KindDone || got != "a row" {
		t.Errorf("it came to %v, and stored %q", o, got)
	}
}

// A command that fails leaves no file, even if it wrote something. If a run is undone, its file is deleted.
func TestSaveThatFails(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		exit int
		want string
	}{
		"fails":     {3, "dump in pod db-0 ended with 3: the disk is full"},
		"is undone": {0, "somebody else's step failed"},
	} {
		folder := t.TempDir()
		connection := pod(t, func(_ []string, _ io.Reader, stdout, stderr io.Writer) int {
			fmt.Fprint(stdout, "half")
			fmt.Fprint(stderr, "the disk is full")
			return test.exit
		})
		o := carry(t, connection, "", func(ctx context.Context, run *durable.Run) error {
			step := steps.Save("save", command, artifactstore.Directory(folder), "all")
			step.Retry.Attempts = 1
			if _, err := durable.Do(ctx, run, step); err != nil {
				return err
			}
			return errors.New("somebody else's step failed")
		})
		left, err := filepath.Glob(filepath.Join(folder, "*"))
		if o.Kind() != outcome.KindStalled || !strings.Contains(o.Message(), test.want) || err != nil || len(left) > 0 {
			t.Errorf("%s: it came to %v, and left %q (%v)", name, o, left, err)
		}
	}
}

// wrapped is a store that does not check names in advance.
type wrapped struct{ steps.Files }

// A name that no file can have fails the step at once, and nothing has to be deleted. The command does not run, if the store can check
// names.
func TestSaveAsWhatCannotExist(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		files func(directory string) steps.Files
		runs  int
	}{
		"checked in advance":     {func(directory string) steps.Files { return artifactstore.Directory(directory) }, 0},
		"not checked in advance": {func(directory string) steps.Files { return wrapped{artifactstore.Directory(directory)} }, 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			runs := make(chan bool, 5)
			connection := pod(t, func([]string, io.Reader, io.Writer, io.Writer) int { runs <- true; return 0 })
			o := carry(t, connection, "", func(ctx context.Context, run *durable.Run) error {
				_, err := durable.Do(ctx, run, steps.Save("save", command, test.files(t.TempDir()), "backup-10:00"))
				return err
			})
			if o.Kind() != outcome.KindStalled || !strings.Contains(o.Message(), "is not a valid file name in a bucket: ':' may not be in it") || len(runs) != test.runs {
				t.Errorf("the command ran %d times, and it came to %v", len(runs), o)
			}
		})
	}
}

// broken is a store whose files break off.
type broken struct{ steps.Files }

func (broken) Get(context.Context, string) (io.ReadCloser, error) {
	return io.NopCloser(io.MultiReader(strings.NewReader("half"), iotest.ErrReader(errors.New("the store is away")))), nil
}

// A file that breaks off is not loaded, although the command sees its end and exits with 0.
func TestLoadThatBreaksOff(t *testing.T) {
	t.Parallel()
	connection := pod(t, func(_ []string, stdin io.Reader, _, _ io.Writer) int {
		if _, err := io.Copy(io.Discard, stdin); err != nil {
			t.Error(err)
		}
		return 0
	})
	o := carry(t, connection, "", func(ctx context.Context, run *durable.Run) error {
		step := steps.Load("load", command, broken{}, "all")
		step.Retry.Attempts = 1
		_, err := durable.Do(ctx, run, step)
		return err
	})
	if o.Kind() != outcome.KindStalled || !strings.Contains(o.Message(), "the store is away") {
		t.Errorf("it came to %v: %s", o, o.Message())
	}
}

// The last part of the output of a command is kept. The command receives its input and the step's key.
func TestExec(t *testing.T) {
	t.Parallel()
	connection := pod(t, func(line []string, stdin io.Reader, stdout, _ io.Writer) int {
		text, _ := io.ReadAll(stdin)
		fmt.Fprint(stdout, strings.Repeat("x", journal.MaxResult), string(text), " ", len(line[1]))
		return 0
	})
	o := carry(t, connection, "", func(ctx context.Context, run *durable.Run) error {
		keyed := command
		keyed.Keyed = func(key string) []string { return []string{"dump", key} }
		keyed.Stdin = func() io.Reader { return strings.NewReader("input") }
		out, err := durable.Do(ctx, run, steps.Exec("exec", keyed))
		if err == nil && (len(out.Stdout) != journal.MaxResult/8 || !strings.HasSuffix(out.Stdout, "xinput 32")) {
			t.Errorf("the output has %d bytes and ends in %q", len(out.Stdout), out.Stdout[max(0, len(out.Stdout)-20):])
		}
		return err
	})
	if o.Kind() != outcome.KindDone {
		t.Errorf("it came to %v", o)
	}
}
