package main

import (
	"errors"
	"os"
	"runtime"
	"runtime/pprof"
)

// profile starts the requested profiles and returns a function that ends them.
func profile(s settings) (finish func() error, err error) {
	stop := func() error { return nil }
	if s.cpuProfile != "" {
		file, err := os.Create(s.cpuProfile)
		if err != nil {
			return nil, err
		}
		if err := pprof.StartCPUProfile(file); err != nil {
			return nil, err
		}
		stop = func() error {
			pprof.StopCPUProfile()
			return file.Close()
		}
	}
	return func() error { return errors.Join(stop(), heap(s.memProfile)) }, nil
}

func heap(path string) error {
	if path == "" {
		return nil
	}
	file, err := os.Create(path)
	if err != nil {
		return err
	}
	runtime.GC()
	return errors.Join(pprof.WriteHeapProfile(file), file.Close())
}
