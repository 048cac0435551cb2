package main

import "encoding/binary"

// A frame is the length of the payload, the number of the caller on its
// connection, and the payload.
const headerSize = 8

func appendFrame(buffer []byte, caller uint32, payload []byte) []byte {
	buffer = binary.LittleEndian.AppendUint32(buffer, uint32(len(payload)))
	buffer = binary.LittleEndian.AppendUint32(buffer, caller)
	return append(buffer, payload...)
}

// parseFrame takes a frame off the front of data. It reports false, and the same
// data, when no whole frame is there.
func parseFrame(data []byte) (caller uint32, payload, rest []byte, ok bool) {
	if len(data) < headerSize {
		return 0, nil, data, false
	}
	end := headerSize + int(binary.LittleEndian.Uint32(data))
	if len(data) < end {
		return 0, nil, data, false
	}
	return binary.LittleEndian.Uint32(data[4:]), data[headerSize:end], data[end:], true
}
