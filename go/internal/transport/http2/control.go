package http2

import (
	h2 "golang.org/x/net/http2"
)

// Frames about the connection rather than a request: SETTINGS, PING,
// WINDOW_UPDATE, RST_STREAM, PRIORITY.

func (c *Conn) settingsLocked(f *h2.SettingsFrame) error {
	if f.IsAck() {
		if c.toldLocked() {
			return nil // it was asked for
		}
		return c.spendLocked(1, "SETTINGS")
	}
	if !c.greeted {
		c.greeted = true
		c.armLocked(c.checkKeepaliveLocked(c.lastRead))
		c.armLocked(c.checkEndLocked(c.lastRead))
	}
	window := c.peer.window
	err := f.ForeachSetting(func(s h2.Setting) error {
		if err := s.Valid(); err != nil {
			code := h2.ErrCodeProtocol
			if s.ID == h2.SettingInitialWindowSize {
				code = h2.ErrCodeFlowControl
			}
			return violate(code, "setting %v", s)
		}
		switch s.ID {
		case h2.SettingInitialWindowSize:
			window = int64(s.Val)
		case h2.SettingMaxFrameSize:
			c.peer.frame = int(min(s.Val, maxSentFrame))
		case h2.SettingMaxHeaderListSize:
			c.peer.headerList = s.Val
		case h2.SettingHeaderTableSize:
			c.encoder.SetMaxDynamicTableSizeLimit(min(s.Val, 4096))
			c.encoder.SetMaxDynamicTableSize(min(s.Val, 4096))
			c.inserts++ // entries may have gone
		}
		return nil
	})
	if err != nil {
		return err
	}
	c.controlLocked()
	_ = c.framer.WriteSettingsAck() // ahead of the DATA that a larger window lets go
	if err := c.setPeerWindowLocked(window); err != nil {
		return err
	}
	return c.spendLocked(1+f.NumSettings()/8, "SETTINGS")
}

// maxSentFrame bounds the DATA frames that are sent: above, nothing is gained,
// and streams would take longer turns.
const maxSentFrame = 64 << 10

// setPeerWindowLocked applies SETTINGS_INITIAL_WINDOW_SIZE to all streams (RFC
// 9113 6.9.2).
func (c *Conn) setPeerWindowLocked(window int64) error {
	change := window - c.peer.window
	if change == 0 {
		return nil
	}
	c.peer.window = window
	for _, s := range c.streams {
		if s.sendWindow += change; s.sendWindow > maxWindow {
			return violate(h2.ErrCodeFlowControl, "the window of stream %d exceeds %d", s.id, maxWindow)
		}
		c.wantSendLocked(s)
	}
	c.fillLocked()
	return nil
}

func (c *Conn) windowUpdateLocked(f *h2.WindowUpdateFrame) error {
	if f.StreamID == 0 {
		if c.sendWindow += int64(f.Increment); c.sendWindow > maxWindow {
			return violate(h2.ErrCodeFlowControl, "the window of the connection exceeds %d", maxWindow)
		}
		c.fillLocked()
		return c.spendLocked(1, "WINDOW_UPDATE")
	}
	s := c.streams[f.StreamID]
	if s == nil {
		if f.StreamID > c.lastID || f.StreamID&1 == 0 {
			return violate(h2.ErrCodeProtocol, "WINDOW_UPDATE for stream %d, which is idle", f.StreamID)
		}
		return c.spendLocked(1, "WINDOW_UPDATE")
	}
	if s.sendWindow += int64(f.Increment); s.sendWindow > maxWindow {
		return c.streamErrorLocked(f.StreamID, h2.ErrCodeFlowControl)
	}
	c.wantSendLocked(s)
	c.fillLocked()
	return c.spendLocked(1, "WINDOW_UPDATE")
}

func (c *Conn) resetByPeerLocked(f *h2.RSTStreamFrame) error {
	if f.StreamID > c.lastID || f.StreamID&1 == 0 {
		return violate(h2.ErrCodeProtocol, "RST_STREAM for stream %d, which is idle", f.StreamID)
	}
	cost := 1
	if s := c.streams[f.StreamID]; s != nil {
		cost += s.earned
		s.ended = true // it sends no more
		c.lostLocked(s, canceledByPeer)
	} else {
		c.lateEndedLocked(f.StreamID)
	}
	return c.spendLocked(cost, "RST_STREAM")
}

const canceledByPeer = "the caller has reset the stream"

func (c *Conn) pingLocked(f *h2.PingFrame) error {
	if f.IsAck() {
		if c.measuredLocked(f.Data) {
			return nil // it was asked for
		}
		if f.Data == drainPing && c.goingAway == 1 {
			c.goAwayFinallyLocked()
		}
		return c.spendLocked(1, "PING")
	}
	c.controlLocked()
	_ = c.framer.WritePing(true, f.Data)
	return c.spendLocked(1, "PING")
}

// priorityLocked ignores priorities, but not impossible ones.
func (c *Conn) priorityLocked(f *h2.PriorityFrame) error {
	if f.StreamDep == f.StreamID {
		return c.priorityErrorLocked(f.StreamID)
	}
	return c.spendLocked(1, "PRIORITY")
}

func (c *Conn) priorityErrorLocked(id uint32) error {
	if c.streams[id] == nil && id > c.lastID {
		c.controlLocked()
		_ = c.framer.WriteRSTStream(id, h2.ErrCodeProtocol)
		return c.spendLocked(1, "PRIORITY")
	}
	return c.streamErrorLocked(id, h2.ErrCodeProtocol)
}
