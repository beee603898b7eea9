package runner

import (
	"context"
	"fmt"
	"runtime/debug"
	"sync"
	"time"
)

// Function is an operator that is a function: it runs a manager, or any other code, until its
// context ends. It must use only access.Config to reach the API server.
type Function func(ctx context.Context, access Access) error

// Start calls the function in a goroutine. A panic in this goroutine ends the instance, as it would end a process.
// A panic in another goroutine that the function started ends the test.
func (f Function) Start(ctx context.Context, access Access) (Running, error) {
	ctx, cancel := context.WithCancel(ctx)
	c := &call{cancel: cancel, returned: make(chan struct{}), done: make(chan struct{})}
	go func() {
		defer close(c.returned)
		defer cancel()
		labeled(ctx, access.Log, func(ctx context.Context) { c.over(f.run(ctx, access)) })
	}()
	return c, nil
}

// run calls the function and returns how it ended.
func (f Function) run(ctx context.Context, access Access) (end End) {
	defer func() {
		if cause := recover(); cause != nil {
			end = End{Code: 2, Err: fmt.Errorf("panic: %v", cause)}
			fmt.Fprintf(access.Log, "panic: %v\n%s", cause, debug.Stack()) // an error of the log cannot be reported
		}
	}()
	if err := f(ctx, access); err != nil {
		fmt.Fprintln(access.Log, err)
		return End{Code: 1, Err: err}
	}
	return End{}
}

// call is a running function.
type call struct {
	cancel   context.CancelFunc
	returned chan struct{}

	once sync.Once
	done chan struct{}
	end  End // once done
}

// over ends the instance, unless it has already ended.
func (c *call) over(end End) {
	c.once.Do(func() {
		c.end = end
		close(c.done)
	})
}

// Kill ends the function's context. Later requests of the function do not reach the API server, because its token is
// no longer valid.
func (c *call) Kill() {
	c.cancel()
	go func() {
		select {
		case <-c.returned:
		case <-time.After(timing.lingering):
			c.over(End{})
		}
	}()
}

// Stop ends the function's context and waits for its end.
func (c *call) Stop() {
	c.cancel()
	<-c.done
}

// Done implements Running.
func (c *call) Done() <-chan struct{} { return c.done }

// End implements Running.
func (c *call) End() End { return c.end }
