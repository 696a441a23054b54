// Drives an IPMI BMC with the go-ipmi library, as bench/peers/README.md describes.
package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/bougou/go-ipmi/pkg/client"
	"github.com/bougou/go-ipmi/pkg/command/chassis"
	"github.com/bougou/go-ipmi/pkg/types"
)

const (
	pollEvery = 500 * time.Millisecond
	longest   = 60 * time.Second
)

func main() {
	ctx, cancel := context.WithTimeout(context.Background(), longest)
	defer cancel()
	if err := run(ctx); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(ctx context.Context) error {
	password, err := os.ReadFile(os.Getenv("PEER_PASSWORD_FILE"))
	if err != nil {
		return err
	}
	port, err := strconv.Atoi(os.Getenv("PEER_PORT"))
	if err != nil {
		return err
	}
	repeat, err := strconv.Atoi(os.Getenv("PEER_REPEAT"))
	if err != nil {
		return err
	}
	user := os.Getenv("PEER_USERNAME")
	bmc, err := client.NewClient(os.Getenv("PEER_HOST"), port, user, strings.TrimSpace(string(password)))
	if err != nil {
		return err
	}
	if err := bmc.Connect(ctx); err != nil {
		return err
	}
	defer bmc.Close(ctx)
	next := bufio.NewScanner(os.Stdin)
	for done := 0; done < repeat; done++ {
		if done > 0 && !next.Scan() {
			return nil
		}
		line, err := operate(ctx, bmc, os.Getenv("PEER_OPERATION"))
		if err != nil {
			return err
		}
		fmt.Println(line)
	}
	return nil
}

func operate(ctx context.Context, bmc *client.Client, operation string) (string, error) {
	switch operation {
	case "state":
		return state(ctx, bmc)
	case "on":
		return operation, change(ctx, bmc, chassis.ChassisControlPowerUp, operation)
	case "off":
		return operation, change(ctx, bmc, chassis.ChassisControlPowerDown, operation)
	case "pxe-once":
		if err := bmc.SetBootDevice(ctx, types.BootDeviceSelectorForcePXE, types.BIOSBootTypeEFI, false); err != nil {
			return "", err
		}
		flags := &types.BootOptionParam_BootFlags{}
		if err := bmc.GetSystemBootOptionsParamFor(ctx, flags); err != nil {
			return "", err
		}
		if flags.BootDeviceSelector != types.BootDeviceSelectorForcePXE || flags.Persist {
			return "", errors.New("the boot device is not PXE once")
		}
		return "pxe", nil
	case "inventory":
		device, err := bmc.GetDeviceID(ctx)
		if err != nil {
			return "", err
		}
		fru, err := bmc.GetFRU(ctx, 0, "")
		if err != nil {
			return "", err
		}
		if fru.ProductInfoArea == nil {
			return "", errors.New("the FRU has no product area")
		}
		return fmt.Sprintf("%s, firmware %d", fru.ProductInfoArea.SerialNumber, device.MajorFirmwareRevision), nil
	}
	return "", errors.New("unknown operation")
}

func state(ctx context.Context, bmc *client.Client) (string, error) {
	status, err := bmc.GetChassisStatus(ctx)
	if err != nil {
		return "", err
	}
	if status.PowerIsOn {
		return "on", nil
	}
	return "off", nil
}

func change(ctx context.Context, bmc *client.Client, control chassis.ChassisControl, wanted string) error {
	if _, err := bmc.ChassisControl(ctx, control); err != nil {
		return err
	}
	for {
		found, err := state(ctx, bmc)
		if err != nil || found == wanted {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(pollEvery):
		}
	}
}
