package cni

import (
	"errors"
	"fmt"
	"io/fs"
	"net/netip"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"
)

// lastFile contains the address that was assigned last. A released address is not assigned again soon, because clients may
// still associate it with the old pod.
const lastFile = "last"

// lease assigns an address of the subnet to a container.
func lease(s Settings, container string) (netip.Addr, error) {
	unlock, err := lock(s.Leases)
	if err != nil {
		return netip.Addr{}, err
	}
	defer unlock()
	begin := after(s, last(s))
	for address := begin; ; {
		err := claim(s, address, container)
		if err == nil {
			return address, os.WriteFile(filepath.Join(s.Leases, lastFile), []byte(address.String()), 0o600)
		}
		if !errors.Is(err, fs.ErrExist) {
			return netip.Addr{}, err
		}
		if address = after(s, address); address == begin {
			return netip.Addr{}, fmt.Errorf("every address of %s is in use", s.Subnet)
		}
	}
}

// claim records that a container has an address. The directory is locked, so an empty file was left by a run that was killed or
// cut off, and nobody has its address.
func claim(s Settings, address netip.Addr, container string) error {
	path := filepath.Join(s.Leases, address.String())
	switch info, err := os.Stat(path); {
	case err == nil && info.Size() > 0:
		return fs.ErrExist
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return err
	}
	return os.WriteFile(path, []byte(container), 0o600)
}

// after returns the next address, and the first one after the end of the subnet. The first two addresses and the last one of a
// subnet are never assigned to pods.
func after(s Settings, address netip.Addr) netip.Addr {
	next := address.Next()
	if s.Subnet.Contains(next) && s.Subnet.Contains(next.Next()) && s.Gateway.Less(next) {
		return next
	}
	return s.Gateway.Next()
}

// last returns the address that was assigned last, or the gateway.
func last(s Settings) netip.Addr {
	data, err := os.ReadFile(filepath.Join(s.Leases, lastFile))
	if err != nil {
		return s.Gateway
	}
	address, err := netip.ParseAddr(string(data))
	if err != nil {
		return s.Gateway
	}
	return address
}

// release releases the address of a container.
func release(s Settings, container string) error {
	unlock, err := lock(s.Leases)
	if err != nil {
		return err
	}
	defer unlock()
	entries, err := os.ReadDir(s.Leases)
	if err != nil {
		return err
	}
	for _, entry := range entries {
		path := filepath.Join(s.Leases, entry.Name())
		holder, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		if strings.TrimSpace(string(holder)) == container {
			return os.Remove(path)
		}
	}
	return nil
}

// lock prevents other runs of the plugin from using the directory until undo is called or the process ends.
func lock(folder string) (undo func(), err error) {
	file, err := os.Open(folder)
	if err != nil {
		return nil, fmt.Errorf("the directory of addresses in use: %w", err)
	}
	if err := unix.Flock(int(file.Fd()), unix.LOCK_EX); err != nil {
		file.Close()
		return nil, fmt.Errorf("lock %s: %w", folder, err)
	}
	return func() { file.Close() }, nil
}
