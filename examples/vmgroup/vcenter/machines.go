package vcenter

import (
	"context"
	"fmt"

	"github.com/vmware/govmomi/fault"
	"github.com/vmware/govmomi/object"
	"github.com/vmware/govmomi/property"
	"github.com/vmware/govmomi/view"
	"github.com/vmware/govmomi/vim25"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/operon-framework/operon/external"
)

// Machine is the desired state of a machine.
type Machine struct {
	CPU int32
	// Memory is the memory in GiB.
	Memory int32
	// Template is the inventory path of the template.
	Template string
}

// Seen is the observed state of a machine.
type Seen struct {
	Name    string
	Address string
}

// Machines are the machines of one group. It implements external.Provider.
//
// The name of a machine contains its key, and names are unique in a directory of the vCenter: a second creation returns the
// existing machine, because the vCenter reports the duplicate name.
type Machines struct {
	Access Access
	// Group is the prefix of the names.
	Group string
}

var (
	_ external.Provider[Machine, Seen] = Machines{}
	_ external.Finder                  = Machines{}
	_ external.Once                    = Machines{}
)

// CreatesOnce declares that a machine's name can be used only once.
func (Machines) CreatesOnce() {}

// maxName is the maximum length of the group's name in a machine's name: a vCenter accepts 80 bytes.
const maxName = 48

// name returns the name of the machine with a key.
func (m Machines) name(key string) string {
	return fmt.Sprintf("%s-%s", m.Group[:min(len(m.Group), maxName)], key)
}

// madeFrom is the extra configuration that records the template of a machine.
const madeFrom = "vmgroup.template"

// Find returns the ID of the machine with a key.
func (m Machines) Find(ctx context.Context, key string) (id string, err error) {
	err = m.Access.with(ctx, func(c *vim25.Client) error {
		all, err := machinesNamed(ctx, c, m.name(key))
		if len(all) > 0 {
			id = all[0].Value
		}
		return err
	})
	return id, err
}

// machinesNamed returns the machines with a name, regardless of their location.
func machinesNamed(ctx context.Context, c *vim25.Client, name string) ([]types.ManagedObjectReference, error) {
	kinds := []string{"VirtualMachine"}
	all, err := view.NewManager(c).CreateContainerView(ctx, c.ServiceContent.RootFolder, kinds, true)
	if err != nil {
		return nil, err
	}
	defer func() { _ = all.Destroy(context.WithoutCancel(ctx)) }() // it also ends with the session
	return all.Find(ctx, kinds, property.Match{"name": name})
}

// Observe returns the observed state of a machine.
func (m Machines) Observe(ctx context.Context, id string, want Machine) (seen external.Observation[Seen], err error) {
	err = m.Access.with(ctx, func(c *vim25.Client) error {
		var vm mo.VirtualMachine
		fields := []string{"name", "config.hardware", "config.extraConfig", "runtime.powerState", "guest.ipAddress"}
		err := property.DefaultCollector(c).RetrieveOne(ctx, ref(id), fields, &vm)
		if isGone(err) {
			return nil
		}
		if err != nil {
			return err
		}
		seen, err = observation(vm, want)
		return err
	})
	return seen, err
}

func observation(vm mo.VirtualMachine, want Machine) (external.Observation[Seen], error) {
	if vm.Config == nil {
		return external.Observation[Seen]{}, external.AsGarbage(fmt.Errorf("machine %s is told of without its configuration", vm.Self.Value))
	}
	seen := external.Observation[Seen]{Exists: true, State: Seen{Name: vm.Name}}
	if vm.Guest != nil {
		seen.State.Address = vm.Guest.IpAddress
	}
	seen.Details = map[string][]byte{"name": []byte(vm.Name), "address": []byte(seen.State.Address)}
	if vm.Config.Hardware.NumCPU != want.CPU {
		seen.Drift = append(seen.Drift, "cpu")
	}
	if vm.Config.Hardware.MemoryMB != want.Memory<<10 {
		seen.Drift = append(seen.Drift, "memory")
	}
	if vm.Runtime.PowerState != types.VirtualMachinePowerStatePoweredOn {
		seen.Drift = append(seen.Drift, "power")
	}
	if templateOf(vm) != want.Template {
		seen.Immutable = []string{"template"}
	}
	return seen, nil
}

// templateOf returns the template from which a machine was cloned, or "" if its creator ended before it could record it.
func templateOf(vm mo.VirtualMachine) any {
	for _, option := range vm.Config.ExtraConfig {
		if o := option.GetOptionValue(); o.Key == madeFrom {
			return o.Value
		}
	}
	return ""
}

// configuration returns the desired configuration of a machine.
func configuration(want Machine) types.VirtualMachineConfigSpec {
	return types.VirtualMachineConfigSpec{
		NumCPUs: want.CPU, MemoryMB: int64(want.Memory) << 10,
		ExtraConfig: []types.BaseOptionValue{&types.OptionValue{Key: madeFrom, Value: want.Template}},
	}
}

// Create clones the template.
func (m Machines) Create(ctx context.Context, mark external.Mark, want Machine) (id string, err error) {
	err = m.Access.with(ctx, func(c *vim25.Client) error {
		id, err = m.clone(ctx, c, m.name(mark.Key), want)
		return err
	})
	return id, err
}

func (m Machines) clone(ctx context.Context, c *vim25.Client, name string, want Machine) (string, error) {
	found, err := object.NewSearchIndex(c).FindByInventoryPath(ctx, want.Template)
	if err != nil {
		return "", err
	}
	template, ok := found.(*object.VirtualMachine)
	if !ok {
		return "", external.AsRefused(fmt.Errorf("there is no machine %s to clone", want.Template))
	}
	var origin mo.VirtualMachine
	if err := property.DefaultCollector(c).RetrieveOne(ctx, template.Reference(), []string{"parent", "resourcePool"}, &origin); err != nil {
		return "", err
	}
	if origin.Parent == nil {
		return "", external.AsRefused(fmt.Errorf("machine %s is in no directory", want.Template))
	}
	config := configuration(want)
	task, err := template.Clone(ctx, object.NewFolder(c, *origin.Parent), name, types.VirtualMachineCloneSpec{
		Location: types.VirtualMachineRelocateSpec{Pool: origin.ResourcePool}, Config: &config, PowerOn: true,
	})
	if err != nil {
		return "", err
	}
	info, err := task.WaitForResult(ctx)
	var taken *types.DuplicateName
	if fault.As(err, &taken); taken != nil {
		return taken.Object.Value, nil
	}
	if err != nil {
		return "", err
	}
	made, ok := info.Result.(types.ManagedObjectReference)
	if !ok {
		return "", external.AsGarbage(fmt.Errorf("the clone ended with %T, and no reference to a machine", info.Result))
	}
	// The simulator ignores the configuration and the power state of a clone request. With a real vCenter, there is nothing to do.
	return made.Value, settle(ctx, object.NewVirtualMachine(c, made), want)
}

// Update changes processors and memory, and powers the machine on.
func (m Machines) Update(ctx context.Context, id string, want Machine) error {
	return m.Access.with(ctx, func(c *vim25.Client) error {
		return settle(ctx, object.NewVirtualMachine(c, ref(id)), want)
	})
}

func settle(ctx context.Context, vm *object.VirtualMachine, want Machine) error {
	task, err := vm.Reconfigure(ctx, configuration(want))
	if err := ended(ctx, task, err); err != nil {
		return err
	}
	return on(ctx, vm)
}

func on(ctx context.Context, vm *object.VirtualMachine) error {
	state, err := vm.PowerState(ctx)
	if err != nil || state == types.VirtualMachinePowerStatePoweredOn {
		return err
	}
	task, err := vm.PowerOn(ctx)
	return ended(ctx, task, err)
}

// Delete powers a machine off and destroys it.
func (m Machines) Delete(ctx context.Context, id string) error {
	err := m.Access.with(ctx, func(c *vim25.Client) error {
		vm := object.NewVirtualMachine(c, ref(id))
		state, err := vm.PowerState(ctx)
		if err != nil {
			return err
		}
		if state != types.VirtualMachinePowerStatePoweredOff {
			task, err := vm.PowerOff(ctx)
			if err := ended(ctx, task, err); err != nil {
				return err
			}
		}
		task, err := vm.Destroy(ctx)
		return ended(ctx, task, err)
	})
	if isGone(err) {
		return nil
	}
	return err
}

// ended waits for a task. It uses Wait and not WaitEx, because WaitEx cannot be called concurrently in a session.
func ended(ctx context.Context, task *object.Task, err error) error {
	if err != nil {
		return err
	}
	return task.Wait(ctx)
}

func isGone(err error) bool { return fault.Is(err, &types.ManagedObjectNotFound{}) }

func ref(id string) types.ManagedObjectReference {
	return types.ManagedObjectReference{Type: "VirtualMachine", Value: id}
}
