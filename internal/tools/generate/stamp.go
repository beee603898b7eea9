package generate

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/operon-framework/operon/internal/tools/changes"
	"github.com/operon-framework/operon/local"
)

// stamp records what the last run in a project read and wrote. If any of it changed, the stamp is stale. A stamp that cannot
// be read counts as empty.
type stamp struct {
	// Settings is a hash of inputs that are not files: the flags, this program, the go command.
	Settings string
	// Inputs is a hash of all files that the run depended on.
	Inputs string
	// Directories contain the sources of the loaded packages.
	Directories []string
	// Files are other files that the run read.
	Files []string
	// Outputs are hashes of the written files, by absolute path; "" for a file that must not exist.
	Outputs map[string]string
	// Notes are the notes of the run.
	Notes []string
}

// stampOf returns the file of a project's stamp, or "" if Operon's state directory cannot be written, or another program finds the
// packages, by files that are unknown here.
func stampOf(dir string) string {
	folder, err := local.Folder("generate", sum([]byte(dir))[:16])
	if driver := os.Getenv("GOPACKAGESDRIVER"); err != nil || driver != "" && driver != "off" {
		return "" // then each run loads everything
	}
	return filepath.Join(folder, "stamp.json")
}

func readStamp(file string) *stamp {
	var kept stamp
	content, err := os.ReadFile(file)
	if err != nil || json.Unmarshal(content, &kept) != nil {
		return &stamp{}
	}
	return &kept
}

// write replaces the stamp atomically. It returns no error: without a stamp, the next run only takes longer.
func (s *stamp) write(file string) {
	content, err := json.Marshal(s)
	if err != nil || file == "" {
		return
	}
	part := fmt.Sprintf("%s.%d", file, os.Getpid())
	if os.WriteFile(part, content, 0o600) == nil {
		_ = os.Rename(part, file)
	}
}

// fresh reports whether nothing changed since the run.
func (s *stamp) fresh(dir, settings string) bool {
	if s.Settings != settings {
		return false
	}
	for file, want := range s.Outputs {
		if now, err := sumOf(file); err != nil || now != want {
			return false
		}
	}
	now, _, err := s.inputs(dir)
	return err == nil && now == s.Inputs
}

// inputs returns a hash of the files that the run depended on, and the time of the last change.
func (s *stamp) inputs(dir string) (hash string, newest time.Time, err error) {
	files, err := inputs(dir, s.Directories)
	if err != nil {
		return "", newest, err
	}
	var all strings.Builder
	for _, file := range append(files, s.Files...) {
		if _, written := s.Outputs[file]; written {
			continue
		}
		info, err := os.Stat(file)
		if err != nil {
			return "", newest, err
		}
		if info.ModTime().After(newest) {
			newest = info.ModTime()
		}
		now, err := sumOf(file)
		if err != nil {
			return "", newest, err
		}
		fmt.Fprintln(&all, file, now)
	}
	return sum([]byte(all.String())), newest, nil
}

// outputs returns the hashes of the files in a set.
func outputs(dir string, set *changes.Set) map[string]string {
	made := map[string]string{}
	for _, path := range set.Paths() {
		file := filepath.Join(dir, filepath.FromSlash(path))
		made[file] = ""
		if content, wanted := set.Content(path); wanted {
			made[file] = sum(content)
		}
	}
	return made
}

func sum(content []byte) string {
	hash := sha256.Sum256(content)
	return hex.EncodeToString(hash[:])
}

// sumOf returns the hash of a file, or "" if it does not exist.
func sumOf(file string) (string, error) {
	content, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	return sum(content), err
}

// environment lists the variables that affect how the go command finds packages.
var environment = []string{
	"GOFLAGS", "GOOS", "GOARCH", "CGO_ENABLED", "GOWORK", "GOEXPERIMENT", "GOTOOLCHAIN", "GOROOT", "GOPATH",
	"GOMODCACHE", "GO111MODULE", "GOPACKAGESDRIVER", "GOENV",
}

// settingsSum returns a hash of all inputs of the generators that are not files of the project.
func settingsSum(flags []string) string {
	program, _ := os.Executable()
	compiler, _ := exec.LookPath("go")
	config, _ := os.UserConfigDir()
	parts := append(slices.Clone(flags), time.Now().Format("2006")) // a Makefile can write the year in headers
	for _, file := range []string{program, compiler, filepath.Join(config, "go", "env")} {
		if info, err := os.Stat(file); err == nil {
			file = fmt.Sprint(file, info.Size(), info.ModTime().UnixNano())
		}
		parts = append(parts, file)
	}
	for _, name := range environment {
		parts = append(parts, name+"="+os.Getenv(name))
	}
	return sum([]byte(strings.Join(parts, "\x00")))
}
