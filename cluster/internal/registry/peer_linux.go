package registry

import (
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"net/netip"

	"github.com/vishvananda/netlink/nl"
	"golang.org/x/sys/unix"
)

// established is the state of a TCP socket when both sides are open.
const established = 1

// Sizes of the kernel's request and response, and offsets in them: struct inet_diag_req_v2 and struct inet_diag_msg of
// linux/inet_diag.h.
const (
	questionSize = 56
	answerSize   = 72
	stateAt      = 1
	uidAt        = 64
)

// question queries one socket. The netlink library queries all sockets with these ports and uses the first one, which is not
// sufficient for granting permissions.
type question [questionSize]byte

// Len and Serialize implement nl.NetlinkRequestData.
func (q *question) Len() int          { return questionSize }
func (q *question) Serialize() []byte { return q[:] }

// userOf returns the owner of the socket at the other end of a connection within this machine. It returns an error for a socket
// that was closed: the kernel reports that these belong to root.
func userOf(conn net.Conn) (uid uint32, err error) {
	theirs, err := netip.ParseAddrPort(conn.RemoteAddr().String())
	if err != nil {
		return 0, err
	}
	ours, err := netip.ParseAddrPort(conn.LocalAddr().String())
	if err != nil {
		return 0, err
	}
	q := &question{unix.AF_INET, unix.IPPROTO_TCP}
	binary.NativeEndian.PutUint32(q[4:], 1<<established)
	binary.BigEndian.PutUint16(q[8:], theirs.Port())
	binary.BigEndian.PutUint16(q[10:], ours.Port())
	copy(q[12:], theirs.Addr().Unmap().AsSlice())
	copy(q[28:], ours.Addr().Unmap().AsSlice())
	for i := 48; i < questionSize; i++ {
		q[i] = 0xff // no cookie
	}
	request := nl.NewNetlinkRequest(nl.SOCK_DIAG_BY_FAMILY, 0)
	request.AddData(q)
	found, err := request.Execute(unix.NETLINK_INET_DIAG, nl.SOCK_DIAG_BY_FAMILY)
	if err != nil {
		return 0, fmt.Errorf("ask whose the connection from %s is: %w", theirs, err)
	}
	if len(found) != 1 || len(found[0]) < answerSize || found[0][stateAt] != established {
		return 0, errors.New("the connection is closed already")
	}
	return binary.NativeEndian.Uint32(found[0][uidAt:]), nil
}
