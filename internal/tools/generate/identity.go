package generate

import (
	"debug/elf"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
)

// circumstances are the variables by which the go command finds packages.
var circumstances = []string{
	"GOFLAGS", "GOOS", "GOARCH", "CGO_ENABLED", "GOWORK", "GOEXPERIMENT", "GOTOOLCHAIN", "GOROOT", "GOPATH",
	"GOMODCACHE", "GO111MODULE", "GOPACKAGESDRIVER", "GOENV",
}

// keyOf is a sum of everything that decides what is generated in dir and is in no file there.
func keyOf(dir string, flags []string) string {
	parts := append([]string{program(), goCommand(), dir}, flags...)
	for _, name := range circumstances {
		parts = append(parts, name+"="+os.Getenv(name))
	}
	return sum([]byte(strings.Join(parts, "\x00")))
}

// program identifies this program: another build may generate something else.
var program = sync.OnceValue(func() string {
	path, err := os.Executable()
	if err != nil {
		return ""
	}
	if id := buildID(path); id != "" {
		return id
	}
	return looksOf(path)
})

// buildID is what the Go linker made of all that went into a program, "" where that cannot be told.
func buildID(path string) string {
	file, err := elf.Open(path)
	if err != nil {
		return ""
	}
	defer file.Close()
	section := file.Section(".note.go.buildid")
	if section == nil {
		return ""
	}
	note, err := section.Data()
	if err != nil {
		return ""
	}
	return sum(note)
}

// goCommand identifies the go command, and its settings.
func goCommand() string {
	path, err := exec.LookPath("go")
	if err != nil {
		return ""
	}
	settings := os.Getenv("GOENV")
	if config, err := os.UserConfigDir(); settings == "" && err == nil {
		settings = filepath.Join(config, "go", "env")
	}
	return looksOf(path) + looksOf(settings)
}

func looksOf(path string) string {
	info, err := os.Stat(path)
	if err != nil {
		return path
	}
	return fmt.Sprintf("%s %d %s", path, info.Size(), info.ModTime().UTC())
}
