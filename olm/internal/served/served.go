package served

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"

	"github.com/operon-framework/operon/internal/ship/catalog/registry"
)

// Limits bound what is read of a catalog.
type Limits struct {
	// Message and Total are sizes in bytes: of one answer, and of the file that is written.
	Message, Total int64
	// Count is the number of packages, and that of the bundles in all channels.
	Count int
	// Dial connects to a server. It may refuse addresses.
	Dial func(ctx context.Context, network, address string) (net.Conn, error)
}

// Check returns what is wrong with the address of a server, or nil. It is a host and a port.
func Check(address string) error {
	host, port, err := net.SplitHostPort(address)
	if _, wrong := strconv.ParseUint(port, 10, 16); err != nil || host == "" || wrong != nil {
		return fmt.Errorf("%q is not a host and a port, such as catalog.olm.svc:50051", address)
	}
	return nil
}

// Read writes the catalog of a server into a directory. It returns a digest of the content, which does not depend on the order in which the
// server returns it.
func Read(ctx context.Context, address, into string, limits Limits) (digest string, err error) {
	if err := Check(address); err != nil {
		return "", err
	}
	ctx, cancel := context.WithTimeout(ctx, timing.read)
	defer cancel()
	connection, err := connect(address, limits)
	if err != nil {
		return "", fmt.Errorf("server %s: %w", address, err)
	}
	defer func() { err = errors.Join(err, connection.Close()) }()
	file, err := os.OpenFile(filepath.Join(into, "catalog.json"), os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	buffered := bufio.NewWriter(file)
	r := &reading{client: registry.NewRegistryClient(connection), limits: limits, out: &lines{to: buffered, left: limits.Total}}
	if err := r.read(ctx); err != nil {
		return "", fmt.Errorf("server %s: %w", address, err)
	}
	return r.out.digest(), buffered.Flush()
}

// connect prepares a connection without TLS, which the servers of the Operator Lifecycle Manager do not have. The address is not a target with
// a scheme, which could lead to a socket of this machine.
func connect(address string, limits Limits) (*grpc.ClientConn, error) {
	return grpc.NewClient("passthrough:///"+address,
		grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithContextDialer(func(ctx context.Context, address string) (net.Conn, error) { return limits.Dial(ctx, "tcp", address) }),
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(int(limits.Message))),
		grpc.WithDisableServiceConfig(),
	)
}

// reading is a catalog that is being read.
type reading struct {
	client registry.RegistryClient
	limits Limits
	out    *lines
	// channels are the entries by package and channel, and bundles those that were written, by package and name.
	channels map[[2]string][]entry
	bundles  map[[2]string]bool
	// deprecated are the messages about bundles, by package and name.
	deprecated map[[2]string]string
}

func (r *reading) read(ctx context.Context) error {
	r.channels, r.bundles, r.deprecated = map[[2]string][]entry{}, map[[2]string]bool{}, map[[2]string]string{}
	names, err := all(ctx, r, "ListPackages", func(ctx context.Context) (grpc.ServerStreamingClient[registry.PackageName], error) {
		return r.client.ListPackages(ctx, &registry.ListPackageRequest{})
	})
	if err != nil {
		return err
	}
	if err := r.listBundles(ctx); err != nil {
		return err
	}
	for _, one := range names {
		if err := r.onePackage(ctx, one.GetName()); err != nil {
			return err
		}
	}
	return nil
}

// all returns the parts of an answer.
func all[M any](ctx context.Context, r *reading, method string, call func(context.Context) (grpc.ServerStreamingClient[M], error)) ([]*M, error) {
	var parts []*M
	err := each(ctx, r, method, call, func(part *M) error {
		parts = append(parts, part)
		return nil
	})
	return parts, err
}

// each calls a function for each part of an answer.
func each[M any](ctx context.Context, r *reading, method string, call func(context.Context) (grpc.ServerStreamingClient[M], error), do func(*M) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	late := time.AfterFunc(timing.idle, func() { cancel(fmt.Errorf("no answer within %s", timing.idle)) })
	defer late.Stop()
	stream, err := call(ctx)
	for count := 0; err == nil; count++ {
		var part *M
		if part, err = stream.Recv(); err != nil {
			break
		}
		if count >= r.limits.Count {
			return fmt.Errorf("%s: it has more than %d entries", method, r.limits.Count)
		}
		late.Reset(timing.idle)
		if err := do(part); err != nil {
			return err
		}
	}
	if errors.Is(err, io.EOF) {
		return nil
	}
	return fmt.Errorf("%s: %w", method, reasonOf(ctx, err))
}

// reasonOf returns why a call failed: the cause if its context ended, or what the server says, as a sentence.
func reasonOf(ctx context.Context, err error) error {
	if cause := context.Cause(ctx); cause != nil && !errors.Is(cause, context.Canceled) {
		return cause
	}
	if of, ok := status.FromError(err); ok {
		said, _, _ := strings.Cut(of.Message(), "\ndata: ") // of an address that is not a catalog, the library adds its answer
		said, _, _ = strings.Cut(said, ", debug data: ")
		return fmt.Errorf("%s (%s)", said, of.Code())
	}
	return err
}

// permanent reports whether a server answers with a failure that another attempt would not change: it concerns one part of the catalog.
func permanent(err error) bool {
	switch status.Code(err) {
	case codes.NotFound, codes.Internal, codes.Unknown, codes.InvalidArgument, codes.DataLoss, codes.ResourceExhausted, codes.Unimplemented:
		return true
	}
	return false
}

// once makes a call with one answer. It returns nil if the server does not have the part of the catalog, or fails with it alone.
func once[M any](ctx context.Context, method string, call func(context.Context) (*M, error)) (*M, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, timing.idle, fmt.Errorf("no answer within %s", timing.idle))
	defer cancel()
	answer, err := call(ctx)
	switch {
	case err != nil && ctx.Err() == nil && permanent(err):
		return nil, nil //nolint:nilnil // whoever reads the catalog reports what is missing
	case err != nil:
		return nil, fmt.Errorf("%s: %w", method, reasonOf(ctx, err))
	}
	return answer, nil
}
