// Package simulated runs an in-memory vCenter for tests: the simulator of govmomi, with TLS and a password, on a port of this
// machine. It outlives the operators that a test starts and kills.
package simulated

import (
	"context"
	"crypto/rand"
	"crypto/tls"
	"encoding/pem"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/vmware/govmomi/property"
	"github.com/vmware/govmomi/session"
	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/view"
	"github.com/vmware/govmomi/vim25"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/soap"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/operon-framework/operon/examples/vmgroup/vcenter"
)

// Template is the path of an existing machine.
const Template = "/DC0/vm/DC0_H0_VM0"

// user is the only user that the simulator accepts.
const user = "operator"

// VCenter is a simulated vCenter.
type VCenter struct {
	server *simulator.Server
	model  *simulator.Model
	// password is the current password. It is different for each vCenter, and changed by Expire.
	password atomic.Pointer[string]
}

// New runs a vCenter on an address, such as 127.0.0.1:0 for any free port.
func New(address string) (*VCenter, error) {
	model := simulator.VPX()
	if err := model.Create(); err != nil {
		return nil, err
	}
	v := &VCenter{model: model}
	v.password.Store(new(rand.Text()))
	model.Service.TLS = new(tls.Config)
	model.Service.Listen = &url.URL{Host: address, User: url.UserPassword(user, "")}
	model.Map().SessionManager().ValidLogin = func(login *types.Login) bool {
		return login.UserName == user && login.Password == *v.password.Load()
	}
	v.server = model.Service.NewServer()
	return v, nil
}

// Close stops the vCenter, and deletes everything in it.
func (v *VCenter) Close() {
	v.server.Close()
	v.model.Remove()
}

// Start runs a vCenter until the test ends.
func Start(t testing.TB) *VCenter {
	t.Helper()
	v, err := New("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(v.Close)
	return v
}

// Secret returns the data of the Secret with which an operator accesses the vCenter.
func (v *VCenter) Secret() map[string][]byte {
	return map[string][]byte{
		vcenter.HostKey: []byte("https://" + v.server.URL.Host + "/sdk"), vcenter.UserKey: []byte(user), vcenter.PasswordKey: []byte(*v.password.Load()),
		vcenter.CAKey: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: v.server.Certificate().Raw}),
	}
}

// Machines returns the names of the machines that operators created for a group, with their processors.
func (v *VCenter) Machines(ctx context.Context, group string) ([]string, error) {
	c, err := v.client(ctx)
	if err != nil {
		return nil, err
	}
	kinds := []string{"VirtualMachine"}
	all, err := view.NewManager(c).CreateContainerView(ctx, c.ServiceContent.RootFolder, kinds, true)
	if err != nil {
		return nil, err
	}
	var machines []mo.VirtualMachine
	if err := all.RetrieveWithFilter(ctx, kinds, []string{"name", "config.hardware"}, &machines, property.Match{"name": group + "-*"}); err != nil {
		if strings.Contains(err.Error(), "object references is empty") {
			return nil, nil
		}
		return nil, err
	}
	var names []string
	for _, m := range machines {
		names = append(names, fmt.Sprintf("%s %d", m.Name, m.Config.Hardware.NumCPU))
	}
	slices.Sort(names)
	return names, nil
}

// client returns the client of an administrator.
func (v *VCenter) client(ctx context.Context) (*vim25.Client, error) {
	c, err := vim25.NewClient(ctx, soap.NewClient(v.server.URL, true))
	if err != nil {
		return nil, err
	}
	return c, session.NewManager(c).Login(ctx, url.UserPassword(user, *v.password.Load()))
}

// Expire changes the password, which Secret then returns, and ends the sessions of all operators.
func (v *VCenter) Expire(t testing.TB) {
	t.Helper()
	v.password.Store(new(rand.Text()))
	v.EndSessions(t)
}

// EndSessions ends the sessions of all operators.
func (v *VCenter) EndSessions(t testing.TB) {
	t.Helper()
	ctx := t.Context()
	c, err := v.client(ctx)
	if err != nil {
		t.Fatal(err)
	}
	own, err := session.NewManager(c).UserSession(ctx)
	if err != nil {
		t.Fatal(err)
	}
	var manager mo.SessionManager
	if err := property.DefaultCollector(c).RetrieveOne(ctx, *c.ServiceContent.SessionManager, []string{"sessionList"}, &manager); err != nil {
		t.Fatal(err)
	}
	for _, s := range manager.SessionList {
		if s.Key == own.Key {
			continue
		}
		if err := session.NewManager(c).TerminateSession(ctx, []string{s.Key}); err != nil {
			t.Fatal(err)
		}
	}
}
