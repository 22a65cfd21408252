# The protocol of agents/tienlen_agents/external/PROTOCOL.md in Perl, with nothing but its own library.
#
# It leads many cards, follows with low ones, and keeps 2s and bombs until another player has few cards. Try it:
#
#     tienlen protocol check "perl examples/bot.pl"
#     tienlen compare "process:perl examples/bot.pl" "process:python examples/bot.py" greedy --deals 100
use strict;
use warnings;
use JSON::PP;

my $ranks = "3456789TJQKA2";

# What a play costs, as a number: less is better. A lead of many cards costs less than one of few.
sub price {
    my ($play, $is_lead, $is_late) = @_;
    return 500 if $play eq "" || $play eq "declare";    # the pass; an instant win, which is the only legal play
    my @cards = split / /, $play;
    my %of_rank;
    $of_rank{ substr $_, 0, 1 }++ for @cards;
    my ($top) = sort { $b <=> $a } map { index $ranks, $_ } keys %of_rank;
    my $is_dear = $of_rank{2} || (@cards == 4 && keys %of_rank == 1);
    my ($suit) = sort { $b <=> $a } map { index "scdh", substr $_, 1 } grep { index($ranks, substr $_, 0, 1) == $top } @cards;
    return ($is_dear && !$is_late ? 1000 : 0) + 10 * $top + $suit - ($is_lead ? 20 * @cards : 0);
}

$| = 1;    # flush after every answer
while (my $line = <STDIN>) {
    my $message = decode_json($line);
    if ($message->{type} eq "hello") {
        print encode_json({ type => "ready", version => 1 }), "\n";
    }
    elsif ($message->{type} eq "play") {
        my $is_lead = $message->{table} eq "";
        my @others = grep { $_ != $message->{seat} } 0 .. $#{ $message->{counts} };
        my $is_late = grep { $message->{counts}[$_] && $message->{counts}[$_] <= 4 } @others;
        my %cost = map { $_ => price($_, $is_lead, $is_late) } @{ $message->{legal} };
        my ($best) = sort { $cost{$a} <=> $cost{$b} || $a cmp $b } keys %cost;
        print encode_json({ id => $message->{id}, cards => $best }), "\n";
    }
}
