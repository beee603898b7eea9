package node

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
	"k8s.io/klog/v2"

	"github.com/operon-framework/operon/cluster/internal/node/nodeinit"
	"github.com/operon-framework/operon/cluster/internal/node/program"
	"github.com/operon-framework/operon/cluster/internal/node/settings"
)

// Config is the configuration of a node.
type Config struct {
	// Dir is the node's directory. Start creates it. It contains all files of the node.
	Dir string
	// Store is the directory of images and container metadata. It outlives the node. Default: a directory in Dir, which does not.
	Store string
	// FeatureGates enables or disables feature gates in the kubelet and kube-proxy.
	FeatureGates map[string]bool
	// Registry contains the host names of the cluster's own registry.
	Registry []string
	// Egress allows pods to connect to addresses outside of the node's network, with Relay and Resolve.
	Egress bool
	// Log receives the logs of the node's components.
	Log *os.File
}

// Node is a running node.
type Node struct {
	dir     settings.Dir
	process *exec.Cmd
	network network
	grace   time.Duration // for containers of a retained state
	life    *os.File      // closing it ends the node
	orders  *os.File
	reports *os.File
	report  *json.Decoder // of reports
	ended   chan struct{}
	cause   error // the reason why the process ended; read after ended is closed
}

// Start starts the process of the node and returns when its network exists and containerd responds. The caller must call Stop.
func Start(cfg Config) (*Node, error) {
	h, err := inspect()
	if err != nil {
		return nil, err
	}
	if cfg.Egress && h.proxyMode != withNFT {
		return nil, errors.New("--egress requires the program nft, which is not installed (Debian: apt install nftables)")
	}
	n := &Node{dir: settings.Dir(cfg.Dir), ended: make(chan struct{})}
	if cfg.Store != "" {
		n.grace = timing.stopDeadline
	}
	err = n.dir.Write(settings.Settings{
		Store: cmp.Or(cfg.Store, n.dir.File("containerd")),
		Runc:  h.runc, ProxyMode: h.proxyMode, KeepOOMScore: h.keepOOMScore, FeatureGates: cfg.FeatureGates, Registry: cfg.Registry, Egress: cfg.Egress,
	})
	if err != nil {
		return nil, err
	}
	if err := n.begin(cfg); err != nil {
		return nil, errors.Join(err, n.Stop())
	}
	return n, nil
}

func (n *Node) begin(cfg Config) error {
	groups, err := makeGroups(cfg.Dir)
	if err != nil {
		return err
	}
	return inTurn(func() error {
		if err := n.launch(cfg, groups); err != nil {
			return err
		}
		return n.awaitReport()
	})
}

// launch starts the init process of the node's namespaces.
func (n *Node) launch(cfg Config, groups []string) error {
	path, err := program.Find()
	if err != nil {
		return err
	}
	inherited, err := n.connect()
	defer closeAll(inherited...)
	if err != nil {
		return err
	}
	n.process = exec.Command(path, append([]string{cfg.Dir}, groups...)...)
	n.process.Args[0] = nodeinit.Name
	n.process.Stdout, n.process.Stderr = cfg.Log, cfg.Log
	n.process.ExtraFiles = inherited
	n.process.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags: unix.CLONE_NEWNS | unix.CLONE_NEWPID | unix.CLONE_NEWNET | unix.CLONE_NEWIPC | unix.CLONE_NEWUTS,
		Setsid:     true,
	}
	if err := n.process.Start(); err != nil {
		return fmt.Errorf("start the node's process: %w", err)
	}
	go func() {
		n.cause = n.process.Wait()
		close(n.ended)
	}()
	n.network, err = networkOf(n.process.Process.Pid)
	return err
}

// connect creates the pipes to the process of the node, and returns the ends that the process inherits.
func (n *Node) connect() (inherited []*os.File, err error) {
	pipe := func() (read, write *os.File) {
		if err == nil {
			read, write, err = os.Pipe()
		}
		return read, write
	}
	var life, orders, report *os.File
	life, n.life = pipe()
	orders, n.orders = pipe()
	n.reports, report = pipe()
	n.report = json.NewDecoder(n.reports)
	return []*os.File{life, orders, report}, err
}

// closeAll closes pipes and similar files. Errors of closing them do not matter.
func closeAll(files ...*os.File) {
	for _, file := range files {
		if file != nil {
			file.Close()
		}
	}
}

func (n *Node) awaitReport() error {
	var report settings.Report
	err := n.report.Decode(&report)
	if err != nil {
		select { // the reason is known, and in the log, when the init process has ended, too
		case <-n.ended:
			err = n.cause
		case <-time.After(timing.endDeadline):
		}
		return fmt.Errorf("%w while starting: %w", ErrDied, err)
	}
	if report.Error != "" {
		return errors.New(report.Error)
	}
	return nil
}

// Join makes the node join the cluster, and returns when ready returns, which waits until the node is ready. The files that
// package settings names must exist, and the API server must respond at the address in package settings.
func (n *Node) Join(ready func() error) error {
	return inTurn(func() error {
		err := json.NewEncoder(n.orders).Encode(settings.Order{Join: true})
		if errors.Is(err, syscall.EPIPE) { // the process does not read orders any more
			<-n.ended
			return n.Err()
		}
		if err != nil {
			return err
		}
		return ready()
	})
}

// Dir returns the node's directory.
func (n *Node) Dir() settings.Dir { return n.dir }

// Listen opens a listener in the node's network.
func (n *Node) Listen(address netip.AddrPort) (net.Listener, error) { return n.network.listen(address) }

// Dial connects to an address in the node's network.
func (n *Node) Dial(ctx context.Context, address string) (net.Conn, error) {
	return n.network.dial(ctx, address)
}

// Ended returns a channel that is closed when the process of the node has ended. After that, Err returns the reason.
func (n *Node) Ended() <-chan struct{} { return n.ended }

// Err returns the reason why a node ended.
func (n *Node) Err() error {
	var report settings.Report
	if err := n.report.Decode(&report); err == nil && report.Error != "" {
		return fmt.Errorf("the node ended: %s", report.Error)
	} else if err != nil && !errors.Is(err, io.EOF) {
		return fmt.Errorf("%w: %w", ErrDied, errors.Join(n.cause, err))
	}
	return fmt.Errorf("%w: %w", ErrDied, n.cause)
}

// Stop stops all processes of the node and removes everything except its directory. Containers of a retained state may have to
// write data, so they are stopped first.
func (n *Node) Stop() error {
	closeAll(n.orders)
	defer time.AfterFunc(n.grace, func() {
		if n.grace > 0 {
			klog.ErrorS(nil, "The containers of the node have not ended in time and are killed", "after", n.grace)
		}
		closeAll(n.life)
	}).Stop()
	if err := n.end(); err != nil {
		return err
	}
	var report settings.Report
	if n.grace > 0 && n.report != nil && n.report.Decode(&report) == nil && report.Error != "" {
		klog.ErrorS(errors.New(report.Error), "The containers of the node were not stopped")
	}
	closeAll(n.life, n.reports, n.network.file)
	return Clear(string(n.dir))
}

// end returns when the process of the node has ended, if it was started.
func (n *Node) end() error {
	if n.process == nil || n.process.Process == nil {
		return nil
	}
	select {
	case <-n.ended:
	case <-time.After(timing.endDeadline):
		// It is a child of this process, and was not reaped yet.
		if err := n.process.Process.Kill(); err != nil {
			return fmt.Errorf("end the node's process: %w", err)
		}
		<-n.ended
	}
	return nil
}

// Clear removes the remains of a node on the machine outside of its directory, which are its control groups. Its processes must
// have ended, or be ending because the cluster's process ended.
func Clear(dir string) error {
	if _, err := os.Stat(dir); errors.Is(err, fs.ErrNotExist) {
		return nil // the directory is created first and removed last, so there was no node
	}
	ctx, cancel := context.WithTimeout(context.Background(), timing.endDeadline)
	defer cancel()
	return removeGroups(ctx, dir)
}
