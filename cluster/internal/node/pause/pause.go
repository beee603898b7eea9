// Package pause builds the image for the sandbox of every pod: a program that waits. It is a hundred bytes of machine code in
// an ELF file, because an image with this program would have two hundred megabytes, and a node may not have a compiler.
package pause

import (
	"bytes"
	"encoding/binary"
	"fmt"
)

// code is the program by architecture. It ignores SIGCHLD, so the kernel itself reaps the processes that a pod with a shared
// process namespace leaves behind. Then it waits for signals forever. containerd ends a sandbox with SIGKILL. The structure
// that rt_sigaction reads follows the code.
var code = map[string][]byte{
	"amd64": {
		0xb8, 13, 0, 0, 0, // mov eax, 13: rt_sigaction
		0xbf, 17, 0, 0, 0, // mov edi, 17: SIGCHLD
		0x48, 0x8d, 0x35, 23, 0, 0, 0, // lea rsi, [rip+23]: the structure
		0x31, 0xd2, // xor edx, edx
		0x41, 0xba, 8, 0, 0, 0, // mov r10d, 8: the size of a signal set
		0x0f, 0x05, // syscall
		0xb8, 34, 0, 0, 0, // mov eax, 34: pause
		0x0f, 0x05, // syscall
		0xeb, 0xf7, // jmp .-7: to the last mov
		0, 0, 0, 0, // align the structure
	},
	"arm64": {
		0xc8, 0x10, 0x80, 0xd2, // mov x8, 134: rt_sigaction
		0x20, 0x02, 0x80, 0xd2, // mov x0, 17: SIGCHLD
		0x41, 0x01, 0x00, 0x10, // adr x1, .+40: the structure
		0x02, 0x00, 0x80, 0xd2, // mov x2, 0
		0x03, 0x01, 0x80, 0xd2, // mov x3, 8: the size of a signal set
		0x01, 0x00, 0x00, 0xd4, // svc 0
		0x28, 0x09, 0x80, 0xd2, // mov x8, 73: ppoll
		0x00, 0x00, 0x80, 0xd2, // mov x0, 0
		0x01, 0x00, 0x80, 0xd2, // mov x1, 0
		0x03, 0x00, 0x80, 0xd2, // mov x3, 0
		0x01, 0x00, 0x00, 0xd4, // svc 0
		0xfc, 0xff, 0xff, 0x17, // b .-16: to the first of the three movs
	},
}

// ignore is the structure for rt_sigaction: a handler (SIG_IGN), flags, a restorer and a mask.
var ignore = [4]uint64{1, 0, 0, 0}

// machines are the ELF numbers of the architectures.
var machines = map[string]uint16{"amd64": 62, "arm64": 183}

const (
	headerSize  = 64
	segmentSize = 56
	base        = 0x400000 // address at which the file is mapped
)

// Program returns the program for an architecture, as an ELF file.
func Program(architecture string) ([]byte, error) {
	body, ok := code[architecture]
	if !ok {
		return nil, fmt.Errorf("there is no program for a pod's sandbox for %s, only for amd64 and arm64", architecture)
	}
	size := uint64(headerSize + segmentSize + len(body) + binary.Size(ignore))
	var file bytes.Buffer
	file.Write([]byte{0x7f, 'E', 'L', 'F', 2, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0}) // 64 bits, little endian
	for _, part := range []any{
		uint16(2), machines[architecture], uint32(1), // executable
		uint64(base + headerSize + segmentSize), uint64(headerSize), uint64(0), // entry, segments, sections
		uint32(0), uint16(headerSize), uint16(segmentSize), uint16(1), uint16(0), uint16(0), uint16(0),
		uint32(1), uint32(5), uint64(0), uint64(base), uint64(base), size, size, uint64(0x1000), // load, read and execute
		body, ignore,
	} {
		if err := binary.Write(&file, binary.LittleEndian, part); err != nil {
			return nil, err
		}
	}
	return file.Bytes(), nil
}
