"""What must hold between the ledgers of the two ends of a session, whatever was done."""

from __future__ import annotations

from .side import Entry

Pair = tuple[Entry, Entry | None]  # a call at its caller, and at its callee if its handler started or was about to


def session(first: Entry, second: Entry, *, ended: bool) -> list[str]:
    """Faults of a session that is over, or silent with every call ended."""
    faults = []
    for name, ledger in (("initiator", first), ("acceptor", second)):
        if ledger["failed"]:
            faults.append(f"{name}: connection error {ledger['failed']}: {ledger['text']}")
        if ended:
            for gauge in ("own", "served", "running", "held"):
                if ledger[gauge]:
                    faults.append(f"{name}: {gauge} is {ledger[gauge]} at the end")
    for caller, callee in ((first, second), (second, first)):
        for call in pairs(caller, callee, faults):
            faults += [f"call {call[0]['id']:08x} ({call[0]['method']}): {text}" for text in of_call(*call)]
    return faults


def pairs(caller: Entry, callee: Entry, faults: list[str]) -> list[Pair]:
    served = {call["id"]: call for call in callee["calls"] if not call["own"]}
    own = [call for call in caller["calls"] if call["own"]]
    strangers = served.keys() - {call["id"] for call in own}
    faults += [f"call {one:08x} was served but not made" for one in strangers]
    return [(call, served.get(call["id"])) for call in own]


def of_call(mine: Entry, theirs: Entry | None) -> list[str]:
    """Faults of one call that has ended."""
    if mine["ends"] != 1:
        return [f"has {mine['ends']} terminal statuses"]
    end = mine["ending"]
    started = theirs is not None and theirs["started"]
    faults = []
    if end["status"] == 0 and end["delivery"] != "executed":
        faults.append(f"OK is {end['delivery']}")
    if end["delivery"] == "executed" and not started:
        faults.append("executed, and yet never started")
    if end["delivery"] in ("not_sent", "refused") and started:
        faults.append(f"{end['delivery']}, and yet started")
    if theirs is None or not started:
        return faults
    if any(mine[field] != theirs[field] for field in ("method", "codec", "oneway", "metadata")):
        faults.append(f"was opened as {mine}, and arrived as {theirs}")
    faults += prefixes(mine, theirs)
    if end["delivery"] == "executed" and not mine["oneway"]:
        faults += answered(mine, theirs)
    return faults


def prefixes(mine: Entry, theirs: Entry) -> list[str]:
    """What arrived was sent, in order; and all of it where the receiver knows that it was all."""
    faults = []
    for what, sent, got in (("request", mine["sent"], theirs["got"]), ("answer", theirs["sent"], mine["got"])):
        if sent[: len(got)] != got:
            faults.append(f"{what} messages sent {sent}, got {got}")
    if theirs["ended"] and not mine["ended"]:
        faults.append("half-closed at the callee only")
    if mine["early"] not in ("", theirs["early"]):
        faults.append(f"early metadata {theirs['early']} arrived as {mine['early']}")
    return faults


def answered(mine: Entry, theirs: Entry) -> list[str]:
    """The handler's status decided the call."""
    end, said = mine["ending"], theirs["ending"]
    if said is None:
        return ["executed, and its handler never returned"]
    faults = []
    if end["trailers"] != said["trailers"]:
        faults.append(f"trailers {said['trailers']} arrived as {end['trailers']}")
    if theirs["early"] != mine["early"]:
        faults.append(f"early metadata {theirs['early']} arrived as {mine['early']}")
    if said["status"] == 0:
        single = mine["kind"] in ("unary", "client_streaming")
        right = not single or len(theirs["sent"]) == 1
        if end["status"] != (0 if right else 12):
            faults.append(f"OK arrived as {end}")
        if right and mine["got"] != theirs["sent"]:
            faults.append(f"answers {theirs['sent']}, got {mine['got']}")
        return faults
    if end["status"] != said["status"]:
        faults.append(f"status {said['status']} arrived as {end['status']}")
    whole = end["text"] == said["text"] and end["details"] == said["details"]
    cut = end["stripped"] and said["text"].startswith(end["text"]) and not end["details"]
    if not whole and not cut:
        faults.append(f"{said['text']!r} {said['details']} arrived as {end['text']!r} {end['details']}")
    return faults


def balance(first: Entry, second: Entry) -> list[str]:
    """Faults of a session that is silent, with all consumed and calls still open: windows and what was received."""
    faults: list[str] = []
    for caller, callee in ((first, second), (second, first)):
        faults += _pool(caller, callee)
        for mine, theirs in pairs(caller, callee, faults):
            if theirs is None or not (mine["open"] and theirs["open"] and theirs["started"]):
                continue
            name = f"call {mine['id']:08x} ({mine['method']})"
            requests, answers = (mine, theirs, mine["ended"]), (theirs, mine, theirs["returned"])
            for what, (sender, receiver, over) in (("requests", requests), ("answers", answers)):
                faults += [f"{name}, {what}: {text}" for text in _direction(sender, receiver, over)]
    return faults


def _pool(sender: Entry, receiver: Entry) -> list[str]:
    if "pool" not in sender or "pool" not in receiver:
        return []
    if sender["drained"]:
        return []  # closing: it need not look at the last CREDIT (protocol.md 11.1)
    left, kept = sender["pool"], receiver["pool"]
    faults = []
    if left["send"] != kept["receive"]:
        faults.append(f"the sender has {left['send']} of the pool, the receiver counts {kept['receive']}")
    if kept["receive"] + kept["owed"] != kept["kept"]:
        faults.append(f"pool {kept['receive']} and {kept['owed']} owed do not make {kept['kept']}")
    return faults


def _direction(sender: Entry, receiver: Entry, over: bool) -> list[str]:
    faults = []
    if sender["waits"] or receiver["unread"]:
        faults.append(f"sender waits {sender['waits']}, {receiver['unread']} not consumed, and yet silent")
    if sender["sent"] != receiver["got"]:
        faults.append(f"sent {sender['sent']}, got {receiver['got']}")
    if over:
        return faults
    left, kept = sender["windows"], receiver["windows"]
    if left["send"] != kept["receive"]:
        faults.append(f"the sender has {left['send']} of its window, the receiver counts {kept['receive']}")
    if kept["receive"] + kept["owed"] != kept["kept"]:
        faults.append(f"window {kept['receive']} and {kept['owed']} owed do not make {kept['kept']}")
    return faults
