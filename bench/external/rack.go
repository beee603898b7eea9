package main

import (
	_ "embed"
	"errors"
	"fmt"
	"sync"
)

// cell is an external resource with a size, and possibly a key.
type cell struct{ size, key string }

// rack is an in-memory external system that responds at once.
type rack struct {
	mu    sync.Mutex
	cells map[string]cell
	calls map[string]int64
}

// called locks the rack for a call, and counts it.
func (r *rack) called(call string) (unlock func()) {
	r.mu.Lock()
	r.calls[call]++
	return r.mu.Unlock
}

func (r *rack) count(call string) int64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.calls[call]
}

// held returns the number of cells.
func (r *rack) held() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.cells)
}

func (r *rack) create(c cell) (id string) {
	defer r.called("create")()
	id = fmt.Sprint("id-", r.calls["create"])
	r.cells[id] = c
	return id
}

func (r *rack) look(id string) (c cell, ok bool) {
	defer r.called("look")()
	c, ok = r.cells[id]
	return c, ok
}

func (r *rack) find(key string) (id string) {
	defer r.called("find")()
	for id, c := range r.cells {
		if c.key == key {
			return id
		}
	}
	return ""
}

func (r *rack) remove(id string) {
	defer r.called("remove")()
	delete(r.cells, id)
}

// errNoUpdates is returned for updates, because the sizes in this benchmark do not change.
var errNoUpdates = errors.New("a cell cannot be changed")
